"""Mutation testing of the specs: inject common errors, count which claims catch them."""
