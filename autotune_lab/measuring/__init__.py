"""Verifies and times one config on a device."""
