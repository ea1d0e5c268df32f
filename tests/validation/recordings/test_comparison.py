"""Revisions side by side, of which nothing stays; and the answers to `rooflint measure compare`."""

import itertools
import subprocess

import pytest

from pytest_rooflint.recordings.comparison import Side, calibrated, checkouts, compared
from rooflint.base.errors import RooflintError
from rooflint_measure.compare import ab
from rooflint_measure.compare.ab import Block, Command, Comparison, Sample, Timing
from rooflint_measure.compare.blocks import Calibration, InOrder, Rate
from rooflint_measure.record import Samples


def git(root, *arguments: str) -> str:
    command = ["git", "-C", str(root), "-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    return subprocess.run([*command, *arguments], capture_output=True, encoding="utf-8", check=True).stdout.strip()


@pytest.fixture
def versions(repository):
    """A repository of two commits; the second has a folder more."""
    git(repository.root, "init", "-q", "-b", "main")
    repository.write("time.txt", "1.0")
    git(repository.root, "add", "-A")
    git(repository.root, "commit", "-q", "-m", "One")
    repository.write("time.txt", "1.1")
    repository.write("bench/new.txt", "here")
    git(repository.root, "add", "-A")
    git(repository.root, "commit", "-q", "-m", "Two")
    return repository


def worktrees(root) -> int:
    return git(root, "worktree", "list").count("\n") + 1


def test_each_revision_has_its_own_files_and_names_its_commit(versions):
    with checkouts(versions.root, ("HEAD~1", "main")) as (base, head):
        assert (base.folder / "time.txt").read_text(encoding="utf-8") == "1.0"
        assert (head.folder / "time.txt").read_text(encoding="utf-8") == "1.1"
        assert head.commit == git(versions.root, "rev-parse", "HEAD")
        assert len(str(base.folder)) == len(str(head.folder))
        assert worktrees(versions.root) == 3


@pytest.mark.parametrize("problem", [KeyboardInterrupt, RuntimeError, SystemExit])
def test_nothing_stays_whatever_happens(versions, problem):
    with pytest.raises(problem), checkouts(versions.root, ("HEAD~1", "HEAD")) as sides:
        (sides[0].folder / "left.txt").write_text("behind", encoding="utf-8")
        raise problem
    assert worktrees(versions.root) == 1
    assert not any(side.folder.exists() for side in sides)
    assert git(versions.root, "status", "--porcelain") == ""


def test_a_revision_may_stand_on_both_sides(versions):
    with checkouts(versions.root, ("HEAD", "HEAD")) as (base, head):
        assert base.commit == head.commit
        assert base.folder != head.folder


def test_a_revision_that_there_is_not_is_one_sentence_and_leaves_nothing(versions):
    with (
        pytest.raises(RooflintError, match="'nonsense' is not a revision of"),
        checkouts(versions.root, ("HEAD", "nonsense")),
    ):
        pass
    assert worktrees(versions.root) == 1


def test_the_command_runs_where_the_user_stands(versions):
    message = r"HEAD~1 has no folder bench; run this from one that both"
    with pytest.raises(RooflintError, match=message), checkouts(versions.root / "bench", ("HEAD~1", "HEAD")):
        pass
    assert worktrees(versions.root) == 1
    with checkouts(versions.root / "bench", ("HEAD", "HEAD")) as (base, _):
        assert (base.folder / "new.txt").is_file()


def test_outside_of_a_repository_is_one_sentence(tmp_path):
    with pytest.raises(RooflintError, match="rev-parse"), checkouts(tmp_path, ("a", "b")):
        pass


# ---- the answers


def block(base_s, head_s, *, stolen_s=0.0):
    """Two samples of each, the first of which is the least."""

    def samples(least_s):
        return Samples(seconds=(least_s, 1.01 * least_s), calls=1, stolen_s=(stolen_s, 0.0))

    return Block(base=samples(base_s), head=samples(head_s))


def comparison(*ratios, threshold=0.02, attempts=1, **more):
    blocks = tuple(block(1e-3, 1e-3 * ratio, **more) for ratio in ratios)
    return Comparison(threshold=threshold, attempts=(blocks,) * attempts)


SLOWER = (1.08, 1.08, 1.08, 1.08, 1.08, 1.1)
SPLIT = (1.08, 1.08, 1.08, 0.9, 0.9, 1.0)


@pytest.fixture
def sides(tmp_path):
    """The same command in two revisions."""
    words = ("python", "bench.py")
    return (
        Side(Command("main", words, tmp_path, Timing.CPU), "c0ffee"),
        Side(Command("faster", words, tmp_path, Timing.CPU)),
    )


def sentences(answer, heading):
    return next(one.sentences for one in answer.sections if one.heading == heading)


def table(answer, heading):
    return next(one.table for one in answer.sections if one.heading == heading)


def test_a_verdict_stands_above_the_blocks_that_it_rests_on(sides):
    found = compared(comparison(*SLOWER), *sides)
    assert found.title == "faster against main: slower, 1.08 ×"
    assert found.subtitle == "6 blocks of 2 pairs in turn, cpu time, threshold 2 %"
    assert sentences(found, "Verdict") == (
        "slower: 6 of 6 blocks are slower by more than 2 %",
        "Median over blocks of the ratio of least times: 1.08",
    )
    assert table(found, "Blocks").columns == ("block", "base", "head", "head / base", "vote", "")
    assert table(found, "Blocks").rows[0] == (1, "1 ms", "1.08 ms", "1.08", "slower", "")
    assert table(found, "Blocks").rows[5] == (6, "1 ms", "1.1 ms", "1.1", "slower", "")
    assert found.listing.records()[0] == {
        **{"block": 1, "base": 1e-3, "head": 1.08e-3, "ratio": pytest.approx(1.08)},
        **{"vote": "slower", "disturbed": False},
    }
    assert [row["block"] for row in found.listing.records()] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("ratios", "headline"),
    [((0.9,) * 6, "faster, 0.9 ×"), ((1.0,) * 6, "same, 1 ×"), (SPLIT, "undecided")],
    ids=["faster", "same", "undecided"],
)
def test_only_an_established_ratio_is_in_the_headline(sides, ratios, headline):
    assert compared(comparison(*ratios), *sides).title == f"faster against main: {headline}"


def test_an_undecided_verdict_says_why_and_what_to_do(sides):
    found = compared(comparison(*SPLIT, attempts=2), *sides)
    why = "noise: the blocks disagree, 6 slower, 4 faster, 2 within 2 %; measured twice"
    assert sentences(found, "Verdict") == (
        f"undecided: {why}",
        "Median over blocks of the ratio of least times: 1.039",  # √1.08, between 1.08 and 1
        "Try more --pairs or a quieter machine; --calibrate tells which slowdowns can be detected here",
    )
    record = found.record
    assert (record.verdict, record.outcome, record.reason, len(record.attempts)) == ("undecided", "split", why, 2)


def test_a_disturbed_block_is_marked(sides):
    found = compared(comparison(*SLOWER, stolen_s=1e-3), *sides)
    assert table(found, "Blocks").rows[0][-1] == "disturbed"
    assert found.listing.records()[0]["disturbed"] is True
    assert found.title.endswith("undecided")


def test_the_record_has_both_sides_and_every_raw_value(sides):
    record = compared(comparison(*SLOWER, threshold=0.03), *sides).record.model_dump(mode="json")
    words = ["python", "bench.py"]
    assert record["base"] == {"label": "main", "commit": "c0ffee", "command": words}
    assert record["head"] == {"label": "faster", "commit": None, "command": words}
    assert (record["timing"], record["threshold"], record["pairs"], record["ratio"]) == (
        *("cpu", 0.03, 2),
        pytest.approx(1.08),
    )
    assert (record["verdict"], record["outcome"]) == ("slower", "slower")
    assert [one["vote"] for one in record["blocks"]] == ["slower"] * 6
    assert record["attempts"][0][0]["base"]["seconds"] == [1e-3, 1.01e-3]


def test_a_side_takes_samples_of_its_command(sides, monkeypatch):
    monkeypatch.setattr(Command, "sample", lambda self: Sample(2.0))
    assert sides[0].stopwatch.sample() == Sample(2.0)


def test_blocks_of_instructions_are_numbers_and_no_times(sides):
    noise = [1.0, 1.9, 1.4, 2.7, 1.2, 3.1, 1.7, 1.1, 2.2, 1.3, 2.9]
    walls, heads = itertools.cycle(noise), itertools.cycle(noise[3:] + noise[:3])
    versions = [
        ab.Side(lambda: Sample(next(walls), None, 2e6)),
        ab.Side(lambda: Sample(next(heads), None, 3e6)),
    ]
    found = compared(ab.compare(*versions, pairs=4), *sides)
    assert table(found, "Blocks").rows[0] == (1, "2000000", "3000000", "1.5", "slower", "")
    assert "Instructions count neither waiting nor cache misses" in sentences(found, "Verdict")[2]
    assert (found.record.decided_by, found.record.blocks[0].head) == ("instructions", 3e6)


RATES = Calibration(
    blocks=24,
    threshold=0.02,
    spread=0.004,
    false_positives=Rate(share=0.001, bound=0.008),
    undecided=0.03,
    detections=Rate(share=0.99, bound=0.96),
    missed=0.005,
    smallest_detected=0.035,
    in_order=InOrder(comparisons=4, false_positives=1, undecided=2, detections=3, false_positive_bound=0.5),
)


def test_a_calibration_tells_rates_bounds_and_aims(sides):
    found = calibrated(RATES, sides[0], comparison(*SLOWER).attempts[0], 12.5)
    assert found.title == f"main compared with itself: the aim is {'reached' if RATES.holds else 'missed'}"
    assert found.subtitle == "24 blocks of 2 pairs in 12.5 s, cpu time, threshold 2 %"
    assert sentences(found, "Smallest detectable slowdown") == (
        "The smallest slowdown that is detected in 95 % of comparisons is 3.5 %",
        "Least times of equal versions differ by 0.4 % from block to block (standard deviation)",
    )
    assert table(found, "Error rates").columns == ("comparisons", "share", "bound", "aim")
    assert table(found, "Error rates").rows == (
        ("equal, called different (false positives)", "0.1 %", "≤ 0.8 %", "≤ 0.5 %"),
        ("equal, left undecided", "3 %", "", ""),
        ("5 % slower, detected", "99 %", "≥ 96 %", "≥ 95 %"),
        ("5 % slower, called the same", "0.5 %", "", ""),
    )
    assert sentences(found, "Blocks in the order of measurement") == (
        "1 false positives and 2 undecided in 4 A/A comparisons of 6 blocks in a row, measured once; "
        "3 detections of a slowdown of 5 %",
        "Assuming nothing, the false-positive rate is at most 50 % (95 % confidence)",
    )
    assert found.listing.rows == (
        ("false_positives", 0.001, 0.008),
        ("undecided", 0.03, None),
        ("detections", 0.99, 0.96),
        ("missed", 0.005, None),
        ("smallest_detected", 0.035, None),
    )
    record = found.record
    assert (record.side.label, record.pairs, record.seconds) == ("main", 2, 12.5)
    assert (record.timing, len(record.samples)) == ("cpu", 6)


def test_a_machine_that_detects_nothing_says_so(sides):
    deaf = RATES.model_copy(update={"smallest_detected": None, "detections": Rate(share=0.1, bound=0.0)})
    found = calibrated(deaf, sides[0], comparison(*SLOWER).attempts[0], 12.5)
    assert found.title.endswith("the aim is missed")
    assert sentences(found, "Smallest detectable slowdown")[0] == (
        "No slowdown up to 10 % is detected in 95 % of comparisons"
    )
