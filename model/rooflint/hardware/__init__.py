"""Devices: spec files, their schema, the registry, and the peaks and bandwidths that follow from facts."""
