"""Energy: terms of a workload on a device, power at a rate, and TDP from physics."""
