"""Calibration: kernel times fitted to published measurements, and scored on families left out."""
