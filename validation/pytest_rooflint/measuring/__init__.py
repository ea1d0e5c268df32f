"""What `rooflint measure` runs, and how it reports it."""
