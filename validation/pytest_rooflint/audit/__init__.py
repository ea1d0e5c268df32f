"""Audit: published tables checked against the registry."""
