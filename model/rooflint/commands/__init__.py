"""Commands that the model brings to `rooflint`."""
