"""Finds what is wrong before time is spent: with the environment, a definition, a foreign GPU."""
