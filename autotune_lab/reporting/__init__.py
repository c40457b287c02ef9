"""The report for review: sections, figures, page."""
