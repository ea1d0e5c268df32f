"""A pytest session over golden files."""
