"""Small specs folders for tests of the model, and what a refusal must say."""

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import settings

from rooflint.errors import InputError, Problem
from rooflint.hardware import Hardware
from rooflint.specs import Registry

settings.register_profile("model", deadline=None)  # a slow runner is no bug
settings.load_profile("model")

HEAD = """\
name: One
kind: gpu
sources: {wp: {document: White paper, grade: quoted}}
"""


class Specs:
    """A specs root below tmp_path."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, name: str, text: str | bytes, section: str = "hardware", suffix: str = ".yaml") -> Path:
        """A spec file of that id."""
        file = self.root / section / f"{name}{suffix}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def registry(self) -> Registry:
        """This root alone, without the packaged specs."""
        return Registry((self.root,))

    def device(self, body: str, name: str = "acme/one", *, head: str = HEAD) -> Hardware:
        """A device with one source `wp`, written and read."""
        self.write(name, head + dedent(body))
        return self.registry().get(name)


@pytest.fixture
def specs(tmp_path: Path) -> Specs:
    """An empty specs root."""
    return Specs(tmp_path)


@pytest.fixture
def refused(specs: Specs) -> Callable[..., None]:
    """`refused(body, sentence, …)`: a device spec with that body is refused with just these sentences.

    All of them name the line of the body that is marked `# here`.
    """

    def check(body: str, *sentences: str, head: str = HEAD) -> None:
        text = head + dedent(body)
        (line,) = [number for number, content in enumerate(text.splitlines(), start=1) if "# here" in content]
        file = specs.write("acme/one", text)
        with pytest.raises(InputError) as caught:
            specs.registry().get("acme/one")
        assert caught.value.problems == tuple(Problem(file, line, sentence) for sentence in sorted(sentences))

    return check
