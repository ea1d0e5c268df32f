"""Sensors: clocks, heat, power, and time taken by others."""
