"""The suite: every golden file, the registry, verdicts, and repairs that are tried."""
