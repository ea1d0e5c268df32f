"""Audit: tables of figures that somebody publishes, held against the registry."""
