"""Reasons that golden files state for losses.

A reason counts where it stands in a golden file now and did not stand there in the base: `removed:` for what is gone,
`why:` for a claim that is looser or not validated any more, `xfail: {reason: …}` for one that is expected to fail.
"""

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pytest_rooflint.history.claim_matches import renames
from pytest_rooflint.history.claim_sides import ClaimSide, Judged
from rooflint.base.errors import shown

_FILES = (".yaml", ".yml", ".json")


@dataclass(frozen=True, eq=False)
class Reasons:
    """Reasons of removals that golden files state now and did not state in the base."""

    before: ClaimSide
    after: ClaimSide
    old: Sequence[Judged]
    new: Sequence[Judged]

    @cached_property
    def stated(self) -> Mapping[str, str]:
        """Reasons by what they are about: `golden/x1.yaml::count-core`, `golden/x1.yaml`, `golden/measured/`."""
        then = _stated(self.before)
        return {key: reason for key, reason in _stated(self.after).items() if then.get(key) != reason}

    @cached_property
    def renamed(self) -> Mapping[str, str]:
        """Golden files with another name now."""
        here, there = {one.id for one in self.new}, {one.id for one in self.old}
        gone = (one for one in self.old if one.id not in here)
        fresh = (one for one in self.new if one.id not in there)
        return renames(gone, fresh, set(self.before.files), set(self.after.files))

    def of_claim(self, one: Judged) -> str | None:
        """Why a claim is gone."""
        file = self.home(one.file)
        return self.stated.get(f"{file}::{one.claim.id}") if file else self.of_file(one.file)

    def home(self, file: str) -> str | None:
        """The golden file of the base as it is called now; None where it is gone."""
        found = self.renamed.get(file, file)
        return found if found in self.after.files else None

    def of_file(self, name: str) -> str | None:
        """Why a file is gone or another one: stated for itself, or for a folder that is gone."""
        if name in self.stated:
            return self.stated[name]
        folder = posixpath.dirname(name)
        while folder and not (self.after.top / folder).exists():
            if found := self.stated.get(f"{folder}/"):
                return found
            folder = posixpath.dirname(folder)
        return None

    def write_file(self, name: str) -> str:
        """What to write where a file is gone: in the nearest golden file that is left."""
        files = sorted(self.after.files, key=lambda file: (-len(posixpath.commonpath([file, name])), file))
        if not files:
            return "keep a golden file, and state a reason there"
        key = posixpath.relpath(name, posixpath.dirname(files[0]) or ".")
        return f"{self.place(files[0])}: removed: {{{key}: REASON}}"

    def place(self, name: str) -> str:
        """A file of now as a reader in the working directory calls it."""
        return shown(self.after.top / name)


def _stated(side: ClaimSide) -> dict[str, str]:
    return {
        _about(side.name(golden.file), key): reason
        for golden in side.suite.goldens()
        for key, reason in golden.spec.removed.items()
    }


def _about(file: str, key: str) -> str:
    """What a key of `removed` names: a file or a folder from the folder of the golden file, or one of its claims."""
    if not key.endswith((*_FILES, "/")):
        return f"{file}::{key}"
    path = posixpath.normpath(posixpath.join(posixpath.dirname(file), key))
    return f"{path}/" if key.endswith("/") else path
