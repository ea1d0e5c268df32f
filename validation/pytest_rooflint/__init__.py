"""The harness: golden YAML becomes pytest items, and what they obtain becomes verdicts that explain themselves."""
