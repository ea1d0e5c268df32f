"""Machines that are not there: trees of /proc and /sys."""

import pytest


@pytest.fixture
def tree(tmp_path):
    """A root for /proc and /sys: `tree({"proc/stat": "cpu 1 2"})` writes files and returns the root."""

    def plant(files):
        for path, text in files.items():
            file = tmp_path / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return tmp_path

    return plant
