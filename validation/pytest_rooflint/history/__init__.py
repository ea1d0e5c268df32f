"""What changed between two revisions of the specs, and which fact changed it."""
