"""Figures: functions from a frame and a title to a matplotlib figure, nothing global touched."""
