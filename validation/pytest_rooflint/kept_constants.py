"""Kept constants: what latencies on silicon rest on beside the device, read once for thousands of claims.

A suite with slips tried in it asks for the same files again and again. A file that was written since, or that a suite
reads with another text in its place, is read anew.
"""

from functools import lru_cache
from pathlib import Path

from rooflint.basis import Energies
from rooflint.coefficients import Coefficients
from rooflint.silicon import constants, op_constants
from rooflint.specs import Registry

FILES = (constants.FILE, op_constants.FILE, "launches.yaml")
"""Of a root, those that are kept."""

Texts = tuple[tuple[Path, str], ...]
Stamps = tuple[tuple[Path, int], ...]


def kept(registry: Registry) -> Energies:
    """The constants of a registry's roots. Raises InputError, or RooflintError where no root has them."""
    places = [root / name for root in registry.roots for name in FILES]
    stamps = tuple((file, file.stat().st_mtime_ns) for file in places if file.is_file())
    texts = tuple((file, registry.texts[file]) for file in places if file in registry.texts)
    return _read(registry.roots, texts, stamps)


@lru_cache(maxsize=8)
def _read(roots: tuple[Path, ...], texts: Texts, stamps: Stamps) -> Energies:  # noqa: ARG001  # stamps are of the key
    return Energies(Coefficients(Registry(roots, dict(texts))))
