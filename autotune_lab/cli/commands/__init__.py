"""One file per command: its function ``command`` is the command, its stem the name."""
