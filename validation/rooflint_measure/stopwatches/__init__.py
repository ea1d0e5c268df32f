"""Stopwatches: products, memory, networks and waits."""
