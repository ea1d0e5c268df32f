"""The report: evidence.json in, one HTML page and one Markdown summary out.

The evidence file is the only input. Every physical quantity arrives as text, formatted by whoever wrote the evidence.
"""
