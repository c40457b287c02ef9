"""Readers of result files that other tuners wrote: one file per format."""
