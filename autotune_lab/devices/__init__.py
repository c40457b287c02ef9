"""Where configs run: one plug-in file per kind of device."""
