"""Files of tables."""

import pytest


@pytest.fixture
def write_table(tmp_path):
    """Writes a text as a table of a folder of goldens, which is `tmp_path`."""

    def written(folder, text, name):
        file = tmp_path / folder / f"{name}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    return written
