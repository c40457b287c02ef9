"""The command line: arguments in, one call, a table or JSON out."""
