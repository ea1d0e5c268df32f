"""Answers written down: text for a terminal, JSON, CSV and Markdown; HTML comes with the reports."""
