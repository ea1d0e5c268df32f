"""The closed world of published tables: each can be read, is of a device that is known, and has a claim about it."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from pytest_rooflint.golden.claim import Claim
from rooflint.base.errors import InputError, Problem
from rooflint.devices.registry import Registry, UnknownDeviceError
from rooflint_calibration.published import files, read

KIND, SUBJECT = "prediction", "published"
"""Claims that are about tables: `prediction: published <slug>`."""


def problems(roots: Iterable[Path], registry: Registry, claims: Iterable[Claim]) -> Iterator[Problem]:
    """What is wrong with the tables of some golden folders."""
    named = {claim.subject.split()[1] for claim in claims if is_about_table(claim)}
    for file in files(roots):
        try:
            table = read(file)
            registry.get(table.spec.device)
        except UnknownDeviceError as error:
            yield Problem(file, table.device_line, f"device: is of a device without spec: {error}")
        except InputError as error:
            yield from error.problems
        if file.stem not in named:
            wish = f"want '{KIND}: {SUBJECT} {file.stem}' in a golden file"
            yield Problem(file, 1, f"no claim is about it; what nobody judges shows nothing; {wish}")


def is_about_table(claim: Claim) -> bool:
    """Whether a claim holds the model against a published table."""
    words = claim.subject.split()
    return claim.kind == KIND and len(words) > 1 and words[0] == SUBJECT
