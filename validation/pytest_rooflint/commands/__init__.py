"""Commands that the harness brings to `rooflint`."""
