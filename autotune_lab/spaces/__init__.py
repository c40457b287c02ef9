"""Spaces of meta-parameters: parameters, constraints, and the exact set of valid configs."""
