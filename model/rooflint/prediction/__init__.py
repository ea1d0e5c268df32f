"""Prediction: one network on one device; comparisons, sweeps and the ledger."""
