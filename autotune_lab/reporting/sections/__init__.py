"""One file per section of the report, found by name."""
