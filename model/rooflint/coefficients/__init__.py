"""Coefficients: energies of operations, memories and events, and launch overheads, each with a range."""
