"""Two versions timed in turn, and a verdict."""
