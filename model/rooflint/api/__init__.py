"""The Python API, as `import rooflint` offers it; `docs/api.md` shows it. The command line asks the same functions."""
