"""Runs jobs on one device, in this process or in a supervised one."""
