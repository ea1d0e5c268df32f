"""Tests of predictions, with the slow twin of what is worked out at once."""
