"""Judging again on save: nothing that a change moves is left as it was, and little else is judged."""

import builtins
import os
import random
import re
import sys
from dataclasses import replace
from datetime import date

import pytest

from pytest_rooflint.golden import kinds
from pytest_rooflint.session import watch as module
from pytest_rooflint.session.watch import MOST, Watch, after, begin, sentences, total, watch
from rooflint.base.errors import RooflintError
from rooflint.hardware.registry import PACKAGED

DATA = "source: {document: Acme data sheet, where: p. 1, grade: read}\n"
GOLDEN = {
    "k1": f"""\
hardware: acme/k1
{DATA}claims:
  - {{peak: mac_array int8, expect: 32.8 TOP/s}}
  - {{peak: mac_array int8, at: low, expect: 16.4 TOP/s}}
  - {{peak: vector fp32, expect: 614 GFLOP/s}}
  - {{peak: secret int8, expect: 1.00 TOP/s, undisclosed: true}}
  - {{bandwidth: hbm, expect: 256 GB/s}}
  - {{tdp: rated, expect: 20 W}}
  - {{count: tile, expect: 8}}
""",
    "a1": f"""\
architecture: acme/a1
{DATA}claims:
  - {{ratio: mac_array int8 / mac_array fp16, expect: 2}}
""",
    "orders": f"""\
{DATA}workload: {{mlp: [1024, 1024, 1024], batch: 16}}
compute: int8
claims:
  - {{latency: acme/k1 < acme/x1}}
  - {{bound: nvidia/t4, is: memory}}
""",
    "laws": f"""\
{DATA}claims:
  - {{monotone: peak width}}
  - {{monotone: peak mode}}
  - {{monotone: latency batch, workload: {{mlp: [1024, 1024, 1024]}}}}
""",
    "replay": f"""\
{DATA}workload: {{mlp: [1024, 1024, 1024], batch: 16}}
compute: int8
given:
  A:
    hardware: acme/k1
    unit: mac_array
    facts: {{memories.hbm.pin_rate: [4 Gbit/s, assumed, p. 1]}}
    why: {{memories.hbm.pin_rate: a test}}
sources: {{assumed: {{document: a guess, grade: estimate}}}}
claims:
  - {{bound: A, is: memory}}
""",
}
K1, X1, A1 = (f"specs/{name}.yaml" for name in ("hardware/acme/k1", "hardware/acme/x1", "architectures/acme/a1"))
FILES = [K1, X1, A1, "golden/x1.yaml", *(f"golden/{name}.yaml" for name in GOLDEN)]


@pytest.fixture
def house(small, acme):
    """A repository with two devices, an architecture, and claims of many kinds."""
    for name, text in GOLDEN.items():
        small.write(f"golden/{name}.yaml", text)
    return small


def edited(state, repository, name, old, new):
    """The state after an edit, and the ids of the claims that were judged."""
    repository.edit(name, old, new)
    return after(state, {(repository.root / name).resolve()})


def said(before, now, judged, changed=()):
    return "\n".join(sentences(before, now, judged, changed))


def texts(state):
    """All that is known, as it would be printed."""
    return {name: (one.verdict.outcome, one.verdict.text()) for name, one in state.judged.items()}


# ---- which claims are judged again


def test_a_claim_is_judged_again_where_its_device_or_its_file_changed(house):
    state = begin(house.suite())
    _, judged = edited(state, house, X1, "[15 W", "[16 W")
    assert {name.partition("::")[0] for name in judged} == {"golden/x1.yaml", "golden/orders.yaml", "golden/laws.yaml"}
    _, judged = edited(state, house, "golden/k1.yaml", "expect: 20 W", "expect: 21 W")
    assert {name.partition("::")[0] for name in judged} == {"golden/k1.yaml"}


def test_an_architecture_moves_its_devices_and_its_own_claims(house):
    _, judged = edited(begin(house.suite()), house, A1, "int8: [1024 MAC", "int8: [2048 MAC")
    files = {name.partition("::")[0] for name in judged}
    assert files == {f"golden/{name}.yaml" for name in ("a1", "k1", "orders", "laws", "replay")}
    assert not any("bound-nvidia" in name for name in judged)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["specs/process/7nm.yaml", "golden/measured/acme/x1/run.json", "specs/circuits.yaml"])
def test_any_other_file_may_concern_every_claim(house, name):
    state = begin(house.suite())
    house.write(name, "{}\n")
    now, judged = after(state, {(house.root / name).resolve()})
    assert len(judged) == len(state.judged) == len(now.judged)


def test_a_new_device_may_concern_every_claim(house):
    state = begin(house.suite())
    house.write("specs/hardware/acme/x2.yaml", house.read(X1))
    now, judged = after(state, {(house.root / "specs/hardware/acme/x2.yaml").resolve()})
    assert len(judged) == len(now.judged)
    assert any("acme/x2 has no claim" in str(problem) for problem in now.problems)


def test_on_another_day_every_claim_is_judged(house, monkeypatch):
    state = replace(begin(house.suite()), day=date(2020, 1, 1))
    assert len(edited(state, house, X1, "[15 W", "[16 W")[1]) == len(state.judged)


@pytest.mark.slow
def test_a_network_of_the_repository_is_read_again(house):
    name = "specs/workloads/torchvision/resnet18.yaml"
    house.write(name, (PACKAGED / "workloads/torchvision/resnet18.yaml").read_text(encoding="utf-8"))
    house.write(
        "golden/r.yaml", f"{DATA}claims:\n  - {{flops: macs, workload: torchvision/resnet18, expect: 1.814 GMAC}}\n"
    )
    state = begin(house.suite())
    assert state.ok
    now, _ = edited(
        state, house, name, "[fc, linear, 512000, 0, 512, 513000, 1000,", "[fc, linear, 900000, 0, 512, 513000, 1000,"
    )
    assert texts(now) == texts(begin(house.suite()))
    assert texts(now) != texts(state)


@pytest.mark.slow
def test_an_audited_table_is_judged_again_after_its_own_change_and_that_of_a_golden_file(house):
    house.write("golden/tables.yaml", f"{DATA}claims:\n  - {{audit: ../gpus.csv}}\n")
    house.write("gpus.csv", "device,int8_tops\nacme/x1,65\n")
    watching = Watch(house.suite(), lambda _: None)
    watching.start()
    assert watching.state.failing == ["golden/tables.yaml::audit-../gpus.csv"]
    xfail = "xfail: {ratio: 0.504, reason: an ad, until: 2099-01-01}"
    brochure = f"  - {{peak: mac_array int8, expect: 65 TOP/s, source: ad, {xfail}}}\n"
    house.edit(
        "golden/x1.yaml",
        "claims:\n",
        f"sources: {{ad: {{document: Acme ad, where: p. 1, grade: read}}}}\nclaims:\n{brochure}",
    )
    watching.look()
    assert texts(watching.state) == texts(begin(house.suite()))
    house.write("gpus.csv", "device,int8_tops\nacme/x1,32.8\n")
    watching.look()
    assert watching.state.failing == []


def test_a_kind_that_asks_for_the_golden_folders_is_judged_after_any_golden_file(house, monkeypatch):
    def count(claim, context):
        files = len(list(context.golden_roots[0].rglob("*.yaml")))
        return kinds.Obtained(float(files), "1", "", holds=False, display=f"{files} files")

    counting = kinds.Kind("count", "", count)
    plain = kinds.kind
    monkeypatch.setattr(kinds, "kind", lambda name: counting if name == "count" else plain(name))
    _, judged = edited(begin(house.suite()), house, "golden/a1.yaml", "expect: 2", "expect: 3")
    assert {"golden/x1.yaml::count-core", "golden/k1.yaml::count-tile"} < set(judged)


# ---- sound: after every edit the same as from scratch


def scaled(chance, text):
    """A number of the text is doubled."""
    numbers = list(re.finditer(r"(?<=\[)\d+(\.\d+)?(?= [A-Zkmu])|(?<=expect: )\d+(\.\d+)?", text))
    if not numbers:
        return text
    found = chance.choice(numbers)
    return f"{text[: found.start()]}{2 * float(found[0]):g}{text[found.end() :]}"


def moved_down(_, text):
    return f"# a note\n{text}"


def broken(_, text):
    return f"{text}claims: [\n"


def renamed(_, text):
    return text.replace("name: Acme", "name: Other Acme")


def without_a_line(chance, text):
    """A line is gone: a claim or a fact; or a key, which breaks the file."""
    lines = text.splitlines(keepends=True)
    lines.pop(chance.randrange(len(lines)))
    return "".join(lines)


EDITS = (scaled, scaled, scaled, moved_down, broken, renamed, without_a_line)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_after_every_edit_the_verdicts_are_those_from_scratch(house, seed):
    chance = random.Random(seed)
    original = {name: house.read(name) for name in FILES}
    state = begin(house.suite())
    for _ in range(12):
        name = chance.choice(FILES)
        if chance.random() < 0.35:  # something is mended, so that not all is broken in the end
            name = chance.choice([one for one in FILES if house.read(one) != original[one]] or FILES)
            house.write(name, original[name])
        else:
            house.write(name, chance.choice(EDITS)(chance, house.read(name)))
        state, _ = after(state, {(house.root / name).resolve()})
        scratch = begin(house.suite())
        assert texts(state) == texts(scratch)
        assert set(state.problems) == set(scratch.problems)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_files_that_come_and_go_leave_the_verdicts_of_scratch(house, seed):
    chance = random.Random(seed)
    original = {name: house.read(name) for name in FILES}
    watching = Watch(house.suite(), lambda _: None)
    watching.start()
    for _ in range(6):
        name = chance.choice(FILES)
        if (house.root / name).exists():
            (house.root / name).unlink()
        else:
            house.write(name, original[name])
        watching.look()
        assert texts(watching.state) == texts(begin(house.suite()))


def test_a_file_name_that_is_no_id_stops_the_judging_until_it_is_gone(house):
    state = begin(house.suite())
    wrong = house.write("specs/hardware/acme/K 1.yaml", "name: One\n")
    now, judged = after(state, {wrong.resolve()})
    assert (judged, now.ok) == ([], False)
    assert "is not an id" in said(state, now, judged)
    assert total(state, now) == "no claim was judged; files have names that are not ids"
    wrong.unlink()
    mended, judged = after(now, {wrong.resolve()})
    assert texts(mended) == texts(state)
    assert len(judged) == len(state.judged)


def test_a_bug_in_a_kind_fails_its_claims_and_nothing_else(house, monkeypatch):
    plain = kinds.kind

    def bug(claim, context):
        raise IndexError("3 is too far")

    monkeypatch.setattr(kinds, "kind", lambda name: kinds.Kind("count", "", bug) if name == "count" else plain(name))
    state = begin(house.suite())
    assert state.failing == ["golden/k1.yaml::count-tile", "golden/x1.yaml::count-core"]
    text = said(state, replace(state, problems=()), state.failing)
    assert text == ""
    assert "was not judged: IndexError: 3 is too far" in said(module.State(state.suite), state, state.failing)


# ---- what is said


def test_what_turns_red_is_diagnosed_as_pytest_does_and_what_passes_again_is_named(house):
    state = begin(house.suite())
    assert state.ok, said(state, state, state.judged)
    now, judged = edited(state, house, X1, "int8: [4096 MAC", "int8: [2048 MAC")
    text = said(state, now, judged)
    assert "golden/x1.yaml:5  peak mac_array int8 of acme/x1" in text
    assert (
        f"{X1}:14 units.mac_array.macs_per_clock.int8; write 4096 MAC (fixes 4 failures, breaks nothing)"
        in " ".join(text.split())
    )
    assert "rerun     pytest golden/x1.yaml::peak-mac_array-int8\n" in text
    assert total(state, now) == "4 turned red, 0 green; red now: 4"
    mended, judged = edited(now, house, X1, "int8: [2048 MAC", "int8: [4096 MAC")
    assert said(now, mended, judged).splitlines()[0] == "passes again: golden/x1.yaml:5  peak mac_array int8 of acme/x1"
    assert total(now, mended) == "0 turned red, 4 green; red now: none"
    assert mended.ok


def test_a_claim_that_fails_as_before_is_counted_and_not_repeated(house):
    state, _ = edited(begin(house.suite()), house, X1, "[15 W", "[15 W")
    red, judged = edited(state, house, "golden/k1.yaml", "expect: 20 W", "expect: 30 W")
    noted, judged = edited(red, house, "golden/k1.yaml", "hardware: acme/k1\n", "hardware: acme/k1\n# a note\n")
    assert "golden/k1.yaml::tdp-rated" in judged
    assert said(red, noted, judged) == ""
    assert total(red, noted) == "0 turned red, 0 green; red now: 1"
    worse, judged = edited(noted, house, "golden/k1.yaml", "expect: 30 W", "expect: 40 W")
    assert "golden/k1.yaml:10  tdp rated of acme/k1" in said(noted, worse, judged)


def test_a_broken_file_is_one_line_until_it_is_mended(house):
    state = begin(house.suite())
    now, judged = edited(state, house, X1, "kind: npu", "kind: [npu")
    lines = said(state, now, judged).splitlines()
    assert lines[0].startswith(f"{X1}:")
    assert "is not YAML" in lines[0]
    assert lines[1:] == ["9 claims cannot be judged before these files can be read"]
    assert not now.ok
    mended, judged = edited(now, house, X1, "kind: [npu", "kind: npu")
    assert mended.ok
    assert texts(mended) == texts(state)


def test_a_broken_golden_file_is_one_line_too(house):
    state = begin(house.suite())
    now, judged = edited(state, house, "golden/k1.yaml", "expect: 20 W", "expect: 20 parsecs")
    assert len(said(state, now, judged, {house.root / "golden/k1.yaml"}).splitlines()) == 1
    assert "golden/k1.yaml:9  expect: unknown unit" in said(state, now, judged)
    assert total(state, now) == "0 turned red, 0 green; red now: none, 1 problem"


def test_only_so_many_failures_are_diagnosed(house):
    more = "".join(f"  - {{count: tile, expect: {number}}}\n" for number in range(20, 20 + MOST + 3))
    lines = "".join(f"  s{n}: {{document: sheet {n}, where: p. 1, grade: read}}\n" for n in range(20, 20 + MOST + 3))
    more = re.sub(r"expect: (\d+)", r"expect: \1, source: s\1", more)
    house.write("golden/more.yaml", f"hardware: acme/k1\nsources:\n{lines}claims:\n{more}")
    state = begin(house.suite())
    text = said(module.State(state.suite), state, state.judged)
    assert text.count("  rerun ") == MOST
    assert text.count("also fails: golden/more.yaml:") == 3


# ---- the watch


@pytest.fixture
def watching(small):
    """A watch of the tiny repository, and what it says."""
    lines = []
    found = Watch(small.suite(), lines.append)
    assert not found.ok
    found.start()
    return found, lines


def test_the_start_counts_the_verdicts(watching):
    found, lines = watching
    assert found.ok
    assert re.fullmatch(r"8 pass \(\d+\.\d s\)", lines[0])


def test_a_look_without_a_change_says_nothing(small, watching):
    found, lines = watching
    (small.root / "notes.md").write_text("# Notes\n", encoding="utf-8")
    (small.root / "golden/.x1.yaml.swp").write_text("x", encoding="utf-8")
    found.look()
    assert len(lines) == 1


def test_a_change_is_seen_by_the_times_of_files_and_where_it_is_reported(small, watching):
    found, lines = watching
    file = small.root / "golden/x1.yaml"
    small.edit("golden/x1.yaml", "count: core, expect: 4", "count: core, expect: 5")
    found.look()
    assert re.fullmatch(r"\n\d\d:\d\d:\d\d  golden/x1\.yaml: 8 of 8 claims judged in \d\.\d s", lines[1])
    assert lines[-1] == "1 turned red, 0 green; red now: 1"
    assert not found.ok
    times = file.stat()
    small.edit("golden/x1.yaml", "count: core, expect: 5", "count: core, expect: 4")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))  # as two saves within a tick of the clock
    found.look([file.resolve(), small.root / "golden/x1.yaml~"])
    assert lines[-1] == "0 turned red, 1 green; red now: none"
    assert found.ok


class Watchfiles:
    """In place of the library: some rounds, then Ctrl-C."""

    def __init__(self, *rounds):
        self.rounds = rounds

    def watch(self, *folders, **options):
        self.folders = folders
        for change in self.rounds:
            yield {(1, str(change()))}
        raise KeyboardInterrupt


def test_the_status_is_that_of_the_last_verdicts(small, monkeypatch):
    def red():
        small.edit("golden/x1.yaml", "count: core, expect: 4", "count: core, expect: 5")
        return small.root / "golden/x1.yaml"

    library = Watchfiles(red)
    monkeypatch.setitem(sys.modules, "watchfiles", library)
    lines = []
    assert watch(small.suite(), lines.append) == 1
    assert lines[-1] == "1 turned red, 0 green; red now: 1"
    assert [folder.name for folder in library.folders] == ["golden", "specs", "specs"]
    small.edit("golden/x1.yaml", "count: core, expect: 5", "count: core, expect: 4")
    monkeypatch.setitem(sys.modules, "watchfiles", Watchfiles())
    assert watch(small.suite(), lines.append) == 0


def test_an_interrupted_start_does_not_pass(small, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "begin", interrupted)
    monkeypatch.setitem(sys.modules, "watchfiles", Watchfiles())
    assert watch(small.suite(), print) == 1


def test_without_the_library_the_extra_is_named(small, monkeypatch):
    plain = builtins.__import__

    def importing(name, *arguments, **options):
        if name == "watchfiles":
            raise ImportError(name)
        return plain(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", importing)
    with pytest.raises(RooflintError, match=r"--watch needs watchfiles; in the clone of rooflint: "):
        watch(small.suite(), print)
