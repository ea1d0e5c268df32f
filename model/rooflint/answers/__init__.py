"""What the commands answer, out of predictions; how it is written down is the business of `rooflint.writing`."""
