"""What moved between two states of the specs, and which fact moved it: `rooflint diff`."""
