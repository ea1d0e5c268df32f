"""Mapping: how the work of an op lies on the units of a device."""
