"""The command line of the model."""
