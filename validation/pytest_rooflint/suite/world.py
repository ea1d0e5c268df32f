"""The closed world: what the configured folders must hold, beyond claims that pass.

It is closed over the user's own specs. The packaged ones are there to be spoken of: they need claims only where the
project names them as its specs.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pytest_rooflint.golden import kinds
from pytest_rooflint.golden.kinds import MEASURED, Claim
from pytest_rooflint.recordings import files
from pytest_rooflint.suite.judge import is_second
from pytest_rooflint.suite.roofline_laws import LAWS, Setting
from pytest_rooflint.suite.suite import Suite
from rooflint.base.errors import InputError, Problem, shown
from rooflint.base.facts import Fact
from rooflint.base.text import some
from rooflint.coefficients.library import Coefficients
from rooflint.coefficients.ranges import UnknownCoefficientError
from rooflint.cost.tables import Grid, Prices
from rooflint.workloads import tables
from rooflint.workloads.networks import files_of, read_network


def problems(suite: Suite) -> list[Problem]:
    """What the suite as a whole lacks, over all configured folders, whatever a run selected."""
    claims = suite.claims()
    if not claims and not _is_read(suite):
        return []
    if not claims:
        roots = ", ".join(map(shown, suite.golden_roots)) or "no folder"
        place = suite.golden_roots[0] if suite.golden_roots else Path.cwd()
        return [Problem(place, 1, f"no claim was found below {roots}")]
    try:
        found = dict.fromkeys(
            (
                *_root_problems(suite),
                *_spec_problems(suite),
                *(_uncovered(suite, claims) if _is_whole(suite) else ()),
                *_of_part(suite, files.problems(suite.golden_roots, suite.registry, claims)),
                *_of_part(suite, files.table_problems(suite.golden_roots, suite.registry, claims)),
            )
        )
    except InputError as error:  # a file name that is not an id hides the others
        return [*error.problems, *_doubles(claims)]
    return [*found, *_doubles(claims)]


def of_specs(suite: Suite) -> list[Problem]:
    """What is wrong with the configured specs by themselves: their form, their sources, and laws that they break."""
    try:
        found = [*_root_problems(suite), *_spec_problems(suite)]
    except InputError as error:  # a file name that is not an id hides the others
        return list(error.problems)
    return list(dict.fromkeys((*found, *_unlawful(suite))))


def _unlawful(suite: Suite) -> Iterator[Problem]:
    """Breaches of the laws that need no network."""
    setting = Setting({})
    for device in suite.readable():
        for name, law in LAWS.items():
            if not law.of_networks and law.concerns(device) and law.tests(device, setting):
                for breach in law.breaches(device, setting):
                    yield Problem(device.file, 1, f"{device.id} breaks a law ({name}: {law.promise}): {breach}")


def _root_problems(suite: Suite) -> Iterator[Problem]:
    """Folders without devices, files that are not read, ids that two folders define. Raises InputError."""
    seen: dict[str, Path] = {}
    for root in suite.spec_roots:
        ids = suite.registry.ids(root)
        if not ids:
            yield Problem(root, 1, "a configured specs folder must have a device below hardware/")
        for device in (*ids, *suite.registry.system_ids(root)):
            if device in seen:
                files = {**suite.registry.system_files, **suite.registry.files}
                yield Problem(files[device], 1, f"{device} is also defined in {shown(seen[device])}")
            seen.setdefault(device, root)
        for file in sorted((root / "workloads").rglob("*.yaml")):
            yield from _refused(tables.read_table, file)
    for root in suite.golden_roots:
        wrong = (
            file for file in sorted(root.rglob("*")) if file.is_file() and not _is_readable(file.relative_to(root))
        )
        message = "not a .yaml file; files in a golden folder must be golden files"
        yield from _of_part(suite, (Problem(file, 1, message) for file in wrong))


def _of_part(suite: Suite, found: Iterable[Problem]) -> Iterator[Problem]:
    """Problems of files in the part of the golden folders that is judged."""
    yield from (one for one in found if not suite.part or any(map(one.file.is_relative_to, suite.part)))


def _is_readable(file: Path) -> bool:
    """Whether a file belongs in a golden folder: YAML, Python, Markdown, recordings; hidden files are ignored."""
    hidden = any(part.startswith(".") or part == "__pycache__" for part in file.parts)
    recording = file.suffix == ".json" and file.parts[0] == MEASURED and len(file.parts) > 2
    return hidden or recording or file.suffix in (".yaml", ".yml", ".md", ".py")


def _spec_problems(suite: Suite) -> Iterator[Problem]:
    """Invalid spec files of the configured folders: devices, networks, coefficients, prices, grid carbon."""
    registry = suite.registry
    for name, file in registry.architecture_files.items():
        if suite.is_own(file):
            yield from _refused(registry.architecture, name)
    for device in (*suite.devices(), *suite.systems()):
        yield from _refused(registry.get, device)
    coefficients, prices, grid = Coefficients(registry), Prices(registry).layered, Grid(registry).layered
    reading = ((coefficients.files, coefficients.check), (prices.files, prices.read), (grid.files, grid.read))
    for root in suite.spec_roots:
        for listed, read in reading:
            for file in listed(root):
                yield from _refused(read, file)
        for file in files_of(root).values():
            yield from _refused(read_network, file)


def _refused(read: Callable[[Any], object], what: Any) -> Iterator[Problem]:
    try:
        read(what)
    except InputError as error:
        yield from error.problems


def _is_whole(suite: Suite) -> bool:
    """Whether all claims are known, and not only those of a part or of the files that can be read."""
    return not suite.part and _is_read(suite)


def _is_read(suite: Suite) -> bool:
    """Whether all golden files can be read; one that cannot fails by itself."""
    return len(list(suite.goldens())) == len(suite.files)


def _uncovered(suite: Suite, claims: tuple[Claim, ...]) -> Iterator[Problem]:
    """What the claims of all golden files together must be about."""
    yield from _unclaimed(suite, claims)
    yield from _unrated(suite, claims)


def _unclaimed(suite: Suite, claims: Iterable[Claim]) -> Iterator[Problem]:
    claimed = _claimed(claims)
    files = {**suite.registry.system_files, **suite.registry.files}
    for device in (*suite.devices(), *suite.systems()):
        if device not in claimed:
            message = f"{device} has no claim in any golden file; add one, or its spec is never tested"
            yield Problem(files[device], 1, message)


def _claimed(claims: Iterable[Claim]) -> set[str | None]:
    return {claim.hardware for claim in claims if _checks(claim)}


def _checks(claim: Claim) -> bool:
    """Whether a claim tests its device: not a replay, excused or undisclosed, and of a kind that asks the device."""
    return not _excused(claim) and "hardware" in kinds.kind(claim.kind).scopes


def _excused(claim: Claim) -> bool:
    return claim.is_replay or claim.xfail is not None or claim.undisclosed


RATED = "tdp"
"""Path of the rated power, and the kind of claims about it."""


def _unrated(suite: Suite, claims: Iterable[Claim]) -> Iterator[Problem]:
    """Rated powers that no claim from a second document holds, and reasons for that which are missing or untrue."""
    rating: dict[str | None, list[Claim]] = {}
    for claim in claims:
        if claim.kind == RATED and claim.subject == "rated" and claim.at is None and not _excused(claim):
            rating.setdefault(claim.hardware, []).append(claim)
    stated = {one.spec.hardware: one for one in suite.goldens() if RATED in one.spec.unguarded}
    claimed = _claimed(claims)
    for one in suite.reported():
        if one.id not in claimed:  # which is said already
            continue
        fact = one.facts.get(RATED)
        second = next((claim for claim in rating.get(one.id, ()) if fact and is_second(claim, (fact,))), None)
        if one.id not in stated and fact and not second and suite.is_own(one.file):
            yield Problem(fact.file, fact.line, _unrated_message(one.id, fact))
        elif one.id in stated and (second or not fact):
            golden = stated.pop(one.id)
            why = f"the claim in line {second.line} does" if second else f"{one.id} has none"
            line = golden.document.line(("unguarded", RATED))
            yield Problem(golden.file, line, f"unguarded: says why no second document gives the rated power, but {why}")


def _unrated_message(device: str, fact: Fact) -> str:
    return (
        f"no claim from a document other than '{fact.source.document}' holds the rated power of {device}; add "
        "'{tdp: rated, expect: …}' to a golden file of the device, or the reason why there is none: "
        "'unguarded: {tdp: …}'"
    )


def _doubles(claims: Iterable[Claim]) -> Iterator[Problem]:
    """Claims that stand in two files with the same source."""
    first: dict[tuple[str | None, ...], Claim] = {}
    for claim in claims:
        if claim.is_replay:
            continue
        about = claim.hardware or claim.architecture or json.dumps(claim.workload)
        key = (about, claim.id, claim.source.document if claim.source else None, str(claim.workload))
        other = first.setdefault(key, claim)
        if other.file != claim.file:
            place = f"{shown(other.file)}:{other.line}"
            message = f"'{claim.id}' of {about} is claimed twice from the same document (also {place}); keep one"
            yield Problem(claim.file, claim.line, message)


def without_energies(suite: Suite) -> Iterator[str]:
    """Kinds of memory of the project's devices of which no file gives the energy, each with the file to write."""
    devices: dict[str, list[str]] = {}
    for one in suite.reported():
        for memory in one.memories if suite.is_own(one.file) else ():
            devices.setdefault(memory, []).append(one.id)
    coefficients = Coefficients.of(suite.registry)
    for memory, having in devices.items():
        try:
            coefficients.memory(memory)
        except UnknownCoefficientError:
            yield (
                f"no energy of the memory {memory} is known ({some(having)}), so predictions leave it out; "
                f"write one to specs/memory/{memory}.yaml"
            )
        except InputError:  # which the closed world says
            continue


def unvisited(suite: Suite, root: Path) -> list[Problem]:
    """Golden files of a folder that pytest did not collect: in skipped folders, behind links, ignored."""
    message = "not collected by pytest, so its claims were not judged; see norecursedirs, --ignore"
    files_there = [file for file in suite.files if file.is_relative_to(root.resolve())]
    return [Problem(file, 1, message) for file in files_there if file.resolve() not in suite.visited]
