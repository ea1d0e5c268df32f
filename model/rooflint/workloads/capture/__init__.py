"""Capture of PyTorch networks as op tables. Needs torch."""
