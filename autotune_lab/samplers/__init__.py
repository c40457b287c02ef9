"""Samplers: which configs to try next."""
