"""The suite: golden files and specs together, verdicts on claims, and trials of repairs."""
