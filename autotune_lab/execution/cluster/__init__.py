"""Runs jobs on the machines of a Ray cluster; the only package that imports Ray.

``hosts`` is what runs on the nodes, everything else belongs to the coordinator: the process of the
study, which alone asks the sampler and writes to the store. Only JSON of records, and compiled
binaries as bytes, cross between them.
"""
