"""Compiles configs ahead of time, in processes that have no GPU."""
