"""Kinds of claims by topic: each is a `Kind`, which an entry point names, with the functions above it."""
