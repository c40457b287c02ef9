"""Studies: which configs are tried, in which order, until when."""
