"""Diagnosis: from a wrong figure to its ranked causes."""
