"""The persistent results store: records in, records out."""
