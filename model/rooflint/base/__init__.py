"""Units, precisions, facts, errors, strict YAML, files, git: knows nothing of hardware."""
