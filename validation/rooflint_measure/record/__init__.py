"""Measurements and recordings, as data and as files."""
