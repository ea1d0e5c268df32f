"""Proposals: what to change, in a spec or a golden file, so that a red claim turns green; tried before it is said."""
