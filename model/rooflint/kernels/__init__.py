"""Kernels: calibrated times of GPU kernels (`--fidelity silicon`)."""
