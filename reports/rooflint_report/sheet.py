"""One sheet per device: its evidence, arranged for reading."""

from dataclasses import dataclass
from pathlib import PurePosixPath

from rooflint_report import factlist
from rooflint_report.anchor import Anchors
from rooflint_report.evidence import Device, Evidence, Verdict
from rooflint_report.ladder import Ladder, ladders
from rooflint_report.matrix import blind_spots
from rooflint_report.outcome import tally
from rooflint_report.register import Register


@dataclass(frozen=True)
class Sheet:
    """What the page shows of one device."""

    device: Device
    anchor: str
    register: Register
    ladders: list[Ladder]
    tally: list[tuple[str, int]]
    facts: list[factlist.Row]
    others: list[Verdict]
    golden: list[str]
    blind: int
    uncorroborated: int
    traits: list[str]

    @property
    def generation(self) -> str | None:
        """The architecture without its vendor, which the device's id names already."""
        return self.device["architecture"] and self.device["architecture"].rpartition("/")[2]

    def place(self, file: str | None, line: int | str | None) -> str:
        """`:14` in the device's own spec, `hopper-gh100:23` in another file."""
        if not file:
            return ""
        stem = "" if file == self.device["file"] else PurePosixPath(file).stem
        return f"{stem}:{line}" if line else stem

    def other_files(self) -> list[str]:
        """Files beside its own that its facts come from."""
        device = self.device
        rungs = [f for item in (*device["peaks"], *device["memories"]) for f in item["factors"]]
        files = [fact["file"] for fact in (*rungs, *device["facts"])]
        return [file for file in dict.fromkeys(files) if file and file != device["file"]]


def sheets(evidence: Evidence, anchors: Anchors) -> list[Sheet]:
    """Make a sheet for every device, in the order of the evidence."""
    claims: dict[str, list[Verdict]] = {device["id"]: [] for device in evidence["devices"]}
    for verdict in evidence["verdicts"]:
        if not verdict["replay"]:
            claims.get(verdict["hardware"] or "", []).append(verdict)
    return [_sheet(device, claims[device["id"]], anchors) for device in evidence["devices"]]


def homeless(evidence: Evidence) -> list[Verdict]:
    """Verdicts that belong to no device: architectures, orderings."""
    ids = {device["id"] for device in evidence["devices"]}
    return [v for v in evidence["verdicts"] if v["hardware"] not in ids and not v["replay"]]


def _sheet(device: Device, verdicts: list[Verdict], anchors: Anchors) -> Sheet:
    counts, blind = tally(verdicts), len(blind_spots(device))
    traits = [outcome for outcome, _ in counts if outcome != "pass"]
    return Sheet(
        device=device,
        anchor=anchors.new("device", device["id"]),
        register=Register(device, verdicts),
        ladders=ladders(device["peaks"]),
        tally=counts,
        facts=factlist.rows(device["facts"]),
        others=_others(device, verdicts),
        golden=list(dict.fromkeys(v["file"] for v in verdicts)),
        blind=blind,
        uncorroborated=sum(v["outcome"] == "pass" and not v["corroborated"] for v in verdicts),
        traits=[t.replace(" ", "-") for t in traits] + ["blind"] * bool(blind),
    )


def _others(device: Device, verdicts: list[Verdict]) -> list[Verdict]:
    """Claims that do not already stand beside a peak or a memory."""
    shown = {(p["file"], p["line"]) for item in (*device["peaks"], *device["memories"]) for p in item["published"]}
    return [v for v in verdicts if (v["file"], v["line"]) not in shown]
