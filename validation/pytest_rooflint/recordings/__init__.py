"""Recordings: files of measurements, their physical bounds, and the laws that they must obey."""
