"""Calibration: kernel times held against published measurements, fitted, and scored on families left out."""
