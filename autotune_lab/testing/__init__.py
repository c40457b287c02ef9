"""Conformance suites for plug-ins, and fakes to test with."""
