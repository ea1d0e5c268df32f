"""Repairs: what to change in a spec or a golden file, tried before it is proposed."""
