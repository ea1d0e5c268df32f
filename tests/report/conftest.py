"""Evidence as a run of the golden suite writes it: a few real devices, every outcome, and text that means no good."""

import copy
import json
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

Record = dict[str, Any]

NASTY = "<script>alert('x')</script> | `tick` \"quoted\" & *bold* × ½ {{ 7 * 7 }} </style> @someone [a](javascript:b)"
SPECS = "model/rooflint/specs"
HOPPER = {"fp64": 32, "tf32": 256, "bf16": 512, "fp16": 512, "fp8": 1024, "fp8_acc16": 1024, "int8": 1024}

# id: name, kind, architecture, process, TDP, year, "groups group",
#     {unit: (per group, clock MHz, {precision: MAC/clock})}, (memory, bus bit, Gbit/s per pin, capacity GB)
DEVICES: dict[str, tuple[Any, ...]] = {
    "nvidia/h100-sxm5-80gb": (
        *("NVIDIA H100 SXM5 80GB", "gpu", "nvidia/hopper-gh100", "4 nm", "700 W", 2022, "132 SM"),
        {
            "tensor_core": (4, 1830, HOPPER),
            "cuda_core": (128, 1980, {"fp32": 1, "fp16": 2, "bf16": 2, "int32": 0.5}),
            "fp64_core": (64, 1980, {"fp64": 1}),
        },
        ("hbm3", 5120, 5.24, 80),
    ),
    "nvidia/a100-sxm4-80gb": (
        *("NVIDIA A100 SXM4 80GB", "gpu", "nvidia/ampere-ga100", "7 nm", "400 W", 2020, "108 SM"),
        {
            "tensor_core": (
                4,
                1410,
                {"fp64": 16, "tf32": 128, "bf16": 256, "fp16": 256, "int8": 512, "int4": 1024, "int1": 4096},
            ),
            "cuda_core": (64, 1410, {"fp32": 1, "fp16": 4, "bf16": 2, "int32": 1}),
            "fp64_core": (32, 1410, {"fp64": 1}),
        },
        ("hbm2e", 5120, 3.186, 80),
    ),
    "nvidia/t4": (
        *("NVIDIA T4", "gpu", "nvidia/turing-tu104", "12 nm", "70 W", 2018, "40 SM"),
        {"tensor_core": (8, 1590, {"fp16": 64, "int8": 128}), "cuda_core": (64, 1590, {"fp32": 1, "fp16": 2})},
        ("gddr6", 256, 10.0, 16),
    ),
    "nvidia/jetson-agx-orin-64gb": (
        *("NVIDIA Jetson AGX Orin 64GB", "gpu", "nvidia/ampere-ga10b", "8 nm", "60 W", 2022, "16 SM"),
        {"tensor_core": (4, 1300.5, {"fp16": 256, "int8": 64}), "cuda_core": (128, 1300.5, {"fp32": 1, "fp16": 2})},
        ("lpddr5", 256, 6.4, 64),
    ),
    "amd/mi250x": (
        *("AMD Instinct MI250X", "gpu", "amd/cdna2", "6 nm", "560 W", 2021, "220 CU"),
        {
            "matrix_core": (4, 1700, {"fp64": 32, "fp32": 32, "fp16": 128, "int8": 128}),
            "stream_processor": (64, 1700, {"fp64": 1, "fp32": 2}),
        },
        ("hbm2e", 8192, 3.2, 128),
    ),
    "google/tpu-v4": (
        *("Google TPU v4", "tpu", None, "7 nm", None, 2020, "2 core"),
        {"mxu": (4, 1050, {"bf16": 16384, "int8": 16384})},
        ("hbm2", 4096, 2.4, 32),
    ),
    "intel/xeon-8490h": (
        *("Intel Xeon Platinum 8490H", "cpu", "intel/golden-cove", "7 nm", "350 W", 2023, "60 core"),
        {"simd": (2, 2900, {"fp64": 8, "fp32": 16}), "amx": (1, 2900, {"bf16": 512, "int8": 1024})},
        ("ddr5", 512, 4.8, 4096),
    ),
    "hailo/hailo-8": ("Hailo-8", "npu", None, None, None, 2021, "1 core", {}, None),
    "apple/m2": (
        *("Apple M2", "gpu", None, "5 nm", None, 2022, "10 core"),
        {"alu": (128, 1398, {"fp32": 1, "fp16": 1})},
        ("lpddr5", 128, 6.4, 24),
    ),
    "stillwater/kpu-t256": (
        *("Stillwater KPU-T256", "kpu", None, "16 nm", "30 W", None, "256 tile"),
        {"int8_tile": (256, 1000, {"int8": 1}), "bf16_tile": (256, 1000, {"bf16": 0.5})},
        ("lpddr5", 256, 8.0, 32),
    ),
}


@pytest.fixture
def make_evidence() -> Callable[..., Record]:
    """`make_evidence(devices=66, red=True, nasty=False)` returns evidence of that many devices."""
    return build


@pytest.fixture
def objects() -> Callable[[Any], Any]:
    """JSON data as objects: what a test gives of a record is all that its code may read."""
    return lambda data: json.loads(json.dumps(data), object_hook=lambda found: SimpleNamespace(**found))


@pytest.fixture
def evidence() -> Record:
    """Ten devices, every outcome."""
    return build()


@pytest.fixture
def mutated() -> Record:
    """Ten devices, nothing red, and what became of a dozen mutants of two facts."""
    return build(red=False) | {"mutation": _mutation()}


@pytest.fixture
def green() -> Record:
    """Ten devices, nothing red."""
    return build(red=False)


@pytest.fixture
def empty() -> Record:
    """A run that found nothing to check."""
    record = build(red=False)
    record |= {"problems": [], "verdicts": [], "devices": [], "coverage": [], "replays": []}
    record["counts"] = dict.fromkeys(record["counts"], 0)
    record["run"]["exit_status"] = 5
    return record


@pytest.fixture
def without() -> Callable[[Record, str], Record]:
    """A deep copy without one key, named by its dotted path (`devices.0.name`)."""

    def drop(record: Record, path: str) -> Record:
        clone = copy.deepcopy(record)
        *steps, last = path.split(".")
        target: Any = clone
        for step in steps:
            target = target[int(step) if step.isdigit() else step]
        del target[last]
        return clone

    return drop


def build(devices: int = len(DEVICES), red: bool = True, nasty: bool = False) -> Record:
    """A whole evidence record; beyond the real devices, invented siblings of the two with most peaks."""
    sheets = [_device(*_numbered(number)) for number in range(devices)]
    verdicts = [verdict for device in sheets for verdict in _claims(device)] + _homeless()
    _stain(verdicts, red)
    if nasty:
        _poison(sheets, verdicts)
    _publish(sheets, verdicts)
    counts = {o: sum(v["outcome"] == o for v in verdicts) for o in ("pass", "fail", "xfail", "undecided")}
    versions = {"rooflint": "0.1.0", "python": "3.11.7", "pytest": "9.2.0", "numpy": "2.4.6"}
    commit = {"commit": "4f1c09e2d7ab55c3e1e0f6a7b8c9d0e1f2a3b4c5", "branch": "main", "dirty": red}
    run = {"started": "2026-11-20T06:12:41+00:00", "duration_s": 6.83, "command": "pytest golden", "ci": None}
    return {
        "schema": "rooflint-evidence/3",
        "run": run | {"exit_status": int(red), "git": commit, "versions": versions},
        "machine": {
            "system": "Linux",
            "release": "6.8.0",
            "machine": "x86_64",
            "cpu": "Xeon",
            "cores": 2,
            "python": "CPython",
        },
        "counts": counts
        | {"not validated here": sum(v["outcome"] == "not validated here" for v in verdicts), "replays": 2}
        | {"uncorroborated": sum(not v["corroborated"] for v in verdicts), "claims": len(verdicts), "devices": devices},
        "problems": _problems(nasty) if red else [],
        "places": _places(nasty) if red else [],
        "verdicts": verdicts,
        "devices": sheets,
        "coverage": _coverage(verdicts),
        "replays": _replays(),
    }


def _numbered(number: int) -> tuple[Any, ...]:
    if number < len(DEVICES):
        return list(DEVICES.items())[number]
    name, row = list(DEVICES.items())[number % 2]
    return f"{name}-gen{number}", (f"{row[0]} gen {number}", *row[1:])


def _si(value: float, unit: str) -> str:
    """Four digits and an SI prefix."""
    step = min(max(int(math.log10(value) // 3), 0), 4)
    return f"{float(f'{value / 1000**step:.4g}'):g} {' kMGT'[step].strip()}{unit}"


def _factor(name: str, display: str, path: str, where: str, place: tuple[str, int]) -> Record:
    cited = {"source": "wp", "grade": "quoted", "where": where, "file": place[0], "line": place[1]}
    return {"name": name, "display": display, "path": path} | cited


def _device(id: str, row: tuple[Any, ...]) -> Record:
    name, kind, architecture, process, tdp, year, _, units, _ = row
    file = f"{SPECS}/hardware/{id}.yaml"
    facts = [("process", process, "p. 15", 9), ("tdp", tdp, "Max TDP", 10), ("clocks.boost", "1980 MHz", "table 3", 12)]
    cited = {"source": "wp", "grade": "quoted", "file": file}
    head = {"id": id, "name": name, "kind": kind, "architecture": architecture, "scope": "package", "die": None}
    tail = {"process": process, "tdp": tdp, "launched": year, "file": file}
    whitepaper = {"document": f"{name}, architecture whitepaper v1.04, {year or 2024}", "grade": "quoted", "url": None}
    datasheet = {"document": f"{name}, data sheet", "grade": "read", "url": f"https://example.org/{id}.pdf"}
    secret = {"path": "units.nn_core.macs_per_clock", "reason": "Hailo publishes neither MAC count nor clock"}
    return {
        **(head | tail),
        "notes": "The data sheet prints sparse figures first." if "orin" in id else None,
        "sources": {"wp": whitepaper, "ds": datasheet},
        "peaks": [_peak(unit, precision, row, file) for unit, shape in units.items() for precision in shape[2]],
        "memories": [_memory(*row[8], file)] if row[8] else [],
        "main_memory": row[8][0] if row[8] else None,
        "facts": [cited | {"path": p, "display": d, "where": w, "line": n} for p, d, w, n in facts if d],
        "operating_points": _points() if "orin" in id else [],
        "undisclosed": [] if units else [secret],
    }


def _peak(unit: str, precision: str, row: tuple[Any, ...], file: str) -> Record:
    (per_group, clock, macs), groups = row[7][unit], row[6].split()[0]
    rates = f"{SPECS}/architectures/{row[2]}.yaml" if row[2] else file
    value = int(groups) * per_group * macs[precision] * 2 * clock * 1e6
    rate = "OP/s" if precision.startswith("int") else "FLOP/s"
    convention = dict.fromkeys(("path", "source", "grade", "where", "file", "line"))
    factors = [
        _factor("groups", row[6], f"units.{unit}.groups", "table 3", (file, 15)),
        _factor("per_group", f"{per_group} {unit}", f"units.{unit}.per_group", "p. 19", (rates, 8)),
        _factor("macs_per_clock", f"{macs[precision]:g} MAC/clock", f"units.{unit}.{precision}", "p. 20", (rates, 23)),
        convention | {"name": "ops_per_mac", "display": "2 op/MAC"},
        _factor("clock", f"{clock / 1000:g} GHz", f"units.{unit}.clock", "table 3", (file, 16)),
    ]
    sparse = _si(2 * value, rate) if unit == "tensor_core" and precision != "fp64" else None
    return {
        "unit": unit,
        "precision": precision,
        "at": None,
        "value": value,
        "display": _si(value, rate),
        "sparse_display": sparse,
        "formula": " × ".join(factor["display"] for factor in factors),
        "factors": factors,
        "weakest_grade": "quoted",
        "published": [],
    }


def _memory(name: str, bus: int, rate: float, capacity: int, file: str) -> Record:
    factors = [
        _factor("bus", f"{bus} bit", f"memories.{name}.bus", "table 3", (file, 21)),
        _factor("pin_rate", f"{rate:g} Gbit/s", f"memories.{name}.pin_rate", "table 3", (file, 21)),
    ]
    bandwidth = bus * rate / 8 * 1e9
    shown = {
        "bandwidth": bandwidth,
        "bandwidth_display": _si(bandwidth, "B/s"),
        "capacity_display": f"{capacity} GB",
    }
    return {"name": name, **shown, "formula": f"{bus} bit × {rate:g} Gbit/s / 8", "factors": factors, "published": []}


def _points() -> list[Record]:
    cited = {"source": "ds", "grade": "device", "where": "nvpmodel -q"}
    return [
        {
            "name": mode,
            "overrides": [
                {"path": "units.tensor_core.groups", "display": f"{groups} SM", **cited},
                {"path": "units.tensor_core.clock", "display": f"{clock} MHz", **cited},
            ],
            "peaks": [{"unit": "tensor_core", "precision": "int8", "display": f"{peak} TOP/s"}],
        }
        for mode, groups, clock, peak in [("15w", 6, 408, "10.03"), ("30w", 8, 612, "20.05"), ("50w", 16, 816, "53.48")]
    ]


def _claims(device: Record) -> list[Record]:
    """A claim on each peak but bf16, with sparsity, too; on breakpoints, memories, counts and TDP."""
    peaks = [p for p in device["peaks"] if p["precision"] != "bf16"]
    named = [(p, f"{p['unit']} {p['precision']}") for p in peaks]
    claims = [("peak", name, p, False) for p, name in named]
    claims += [("peak", name, p | {"display": p["sparse_display"]}, True) for p, name in named if p["sparse_display"]]
    for memory in device["memories"]:
        breakpoint = {"display": "295.3 op/B", "formula": f"989.4 TFLOP/s / {memory['bandwidth_display']}"}
        claims += [("breakpoint", f"{name} / {memory['name']}", breakpoint, False) for _, name in named]
        claims.append(("bandwidth", memory["name"], {"display": memory["bandwidth_display"]}, False))
        claims.append(("capacity", memory["name"], {"display": memory["capacity_display"]}, False))
    claims += [
        ("count", "groups", {"display": "132"}, False),
        ("tdp", "rated", {"display": device["tdp"] or "25 W"}, False),
    ]
    source = {"document": f"{device['name']}, data sheet", "where": "product table", "grade": "read"}
    place = f"golden/peaks/{device['id']}.yaml"
    return [_verdict(claim, device["id"], source, (place, line)) for line, claim in enumerate(claims, 4)]


def _verdict(
    claim: tuple[str, str, Record, bool], hardware: str | None, source: Record, place: tuple[str, int]
) -> Record:
    kind, subject, what, sparse = claim
    unit, _, precision = subject.partition(" ") if kind == "peak" else (None, "", None)
    id = f"{kind}-{subject.replace(' / ', '-').replace(' ', '-')}{'-sparse' if sparse else ''}"
    head = {
        "id": id,
        "nodeid": f"{place[0]}::{id}",
        "outcome": "pass",
        "kind": kind,
        "subject": subject,
        "sparse": sparse,
    }
    headline = f"{kind} {subject}{' with sparsity' if sparse else ''}{f' of {hardware}' if hardware else ''}"
    where = {"file": place[0], "line": place[1], "at": None, "note": None, "reason": None, "until": None}
    shown = {"display": what["display"], "value": 1.0}
    used = ("path", "display", "grade", "where", "file", "line")
    return {
        **(head | where),
        "headline": headline,
        "hardware": hardware,
        "others": [],
        "unit": unit,
        "precision": precision,
        "corroborated": kind != "tdp",
        "replay": False,
        "expected": shown | {"text": what["display"], "low": 0.99, "high": 1.01, "source": source},
        "tolerance": {"kind": "printed digits", "text": "±0.05 %", "why": None},
        "obtained": shown | {"formula": what.get("formula")},
        "ratio": 1.0003,
        "ratio_text": None,
        "slack": 0.4,
        "facts": [
            {"document": "whitepaper", **{k: f[k] for k in used}} for f in what.get("factors", []) if f["source"]
        ],
        "causes": [],
        "rerun": f"pytest {place[0]}::{id}",
    }


def _homeless() -> list[Record]:
    source = {"document": "NVIDIA A100 Tensor Core GPU Architecture, 2020", "where": "p. 24", "grade": "quoted"}
    ratio = ("ratio", "tensor_core int8 / tensor_core fp16", {"display": "2"}, False)
    order = ("latency", "h100 < a100 < t4", {"display": "in this order"}, False)
    architecture = ("golden/architectures/nvidia/ampere-ga100.yaml", 4)
    return [
        _verdict(ratio, None, source, architecture),
        _verdict(order, None, source, ("golden/orderings/mlp.yaml", 4)),
    ]


def _stain(verdicts: list[Record], red: bool) -> None:
    """Give some verdicts another outcome than pass."""
    by_id = {v["nodeid"].removeprefix("golden/peaks/"): v for v in verdicts}
    known = by_id["nvidia/t4.yaml::tdp-rated"]
    known |= {"outcome": "xfail", "reason": "the board manual prints 75 W", "until": "2027-11-30", "ratio": 70 / 75}
    known["expected"] |= {"display": "75 W", "text": "75 W"}
    apple = by_id["apple/m2.yaml::peak-alu-fp32"]
    apple |= {"outcome": "not validated here", "reason": "needs a Metal device", "ratio": None, "obtained": None}
    if not red:
        return
    by_id["google/tpu-v4.yaml::bandwidth-hbm2"] |= {
        "outcome": "undecided",
        "reason": "three of six blocks above the limit",
    }
    orin = by_id["nvidia/jetson-agx-orin-64gb.yaml::peak-tensor_core-int8"]
    orin |= {"outcome": "fail", "ratio": 0.125, "ratio_text": "1/8", "note": "printed as 170 sparse"}
    orin["expected"] |= {"text": "170 TOP/s / 2", "display": "85 TOP/s"}
    rate = {"text": "macs_per_clock 64 is 1/8 of 512; it is volta's FP16 rate", "factor": 0.125, "factor_text": "1/8"}
    place = {
        "file": f"{SPECS}/architectures/nvidia/ampere-ga10b.yaml",
        "line": 23,
        "repair": "512 MAC",
    }
    vague = {"text": "or three halvings", "factor": 0.125, "factor_text": "1/2 × 1/2 × 1/2"}
    orin["causes"] = [rate | place, vague | {"file": None, "line": None, "repair": None}]
    for precision in ("fp32", "fp64"):
        verdict = by_id[f"amd/mi250x.yaml::peak-matrix_core-{precision}"]
        verdict |= {"outcome": "fail", "ratio": 2.0, "ratio_text": "2"}
        verdict["expected"] |= {"display": "47.9 TFLOP/s", "text": "47.9 TFLOP/s"}
        cause = {"text": "the module has two GCDs, the source prints one", "factor": 2.0, "factor_text": "2"}
        where = {"file": f"{SPECS}/hardware/amd/mi250x.yaml", "line": 15, "repair": "110 CU"}
        verdict["causes"] = [cause | where | {"fixes": 2, "breaks": 0}]


def _poison(sheets: list[Record], verdicts: list[Record]) -> None:
    """Put hostile text wherever evidence has text."""
    fail = next(v for v in verdicts if v["outcome"] == "fail")
    fail |= dict.fromkeys(("subject", "headline", "hardware", "rerun", "note", "file", "ratio_text"), NASTY)
    fail |= {"nodeid": f"golden/{'very-' * 60}long.yaml::{NASTY}", "ratio": math.inf}
    fail["expected"] |= {
        "text": NASTY,
        "display": NASTY,
        "source": dict.fromkeys(("document", "where", "grade"), NASTY),
    }
    cause = dict.fromkeys(("text", "factor_text", "file", "repair"), NASTY)
    fail["causes"] = [cause | {"factor": 1.0, "line": 1}] * 2
    device = sheets[0]
    device |= dict.fromkeys(("name", "notes", "die", "kind"), NASTY)
    device["sources"]["wp"] |= {"document": NASTY, "url": "javascript:alert(1)"}
    device["undisclosed"] = [{"path": NASTY, "reason": NASTY}]


def _publish(sheets: list[Record], verdicts: list[Record]) -> None:
    """Put each claimed figure beside what it is held against."""
    copied = ("outcome", "ratio", "file", "line", "sparse", "kind", "corroborated")
    for device in sheets:
        homes = {f"{p['unit']} {p['precision']}": p for p in device["peaks"]} | {
            m["name"]: m for m in device["memories"]
        }
        for verdict in verdicts:
            if verdict["hardware"] == device["id"] and verdict["subject"] in homes:
                figure = {"display": verdict["expected"]["text"], **verdict["expected"]["source"]}
                homes[verdict["subject"]]["published"].append(figure | {key: verdict[key] for key in copied})


def _coverage(verdicts: list[Record]) -> list[Record]:
    rank = ["pass", "not validated here", "xfail", "undecided", "fail"]
    cells: dict[tuple[str, str, str], Record] = {}
    for verdict in verdicts:
        if verdict["hardware"]:
            key = (verdict["hardware"], verdict["precision"] or "—", verdict["kind"])
            names = dict(zip(("hardware", "precision", "kind"), key, strict=True))
            cell = cells.setdefault(key, names | {"claims": 0, "corroborated": 0, "outcome": "pass"})
            cell["claims"] += 1
            cell["corroborated"] += verdict["corroborated"]
            cell["outcome"] = max(cell["outcome"], verdict["outcome"], key=rank.index)
    return list(cells.values())


def _problems(nasty: bool) -> list[Record]:
    wish = "tdp: want [value, source, where], found '700 W'"
    problems: list[Record] = [
        {"what": "apple/m1 has no claim in any golden file", "file": f"{SPECS}/hardware/apple/m1.yaml", "line": None},
        {"what": wish, "file": f"{SPECS}/hardware/nvidia/l4.yaml", "line": 9},
    ]
    return problems + ([{"what": NASTY, "file": NASTY, "line": 1}] if nasty else [])


def _places(nasty: bool) -> list[Record]:
    """One repair that fixes two of the three failing claims, and one that only its absence would fix."""
    module = {"file": f"{SPECS}/hardware/amd/mi250x.yaml", "line": 15, "path": "units.matrix_core.groups"}
    ids = [f"golden/peaks/amd/mi250x.yaml::peak-matrix_core-{precision}" for precision in ("fp64", "fp32")]
    rate = {"file": f"{SPECS}/architectures/nvidia/ampere-ga10b.yaml", "line": 23, "path": "units.tensor_core.int8"}
    places: list[Record] = [
        module | {"from": "220 CU", "to": "110 CU", "fixes": 2, "breaks": 0, "failing": 3, "ids": ids},
        rate | {"from": "64 MAC", "to": None, "fixes": 1, "breaks": 4, "failing": 3, "ids": ["gone.yaml::peak"]},
    ]
    text = dict.fromkeys(("file", "path", "from", "to"), NASTY)
    return places + ([text | {"line": None, "fixes": 0, "breaks": 1, "failing": 3, "ids": [NASTY]}] if nasty else [])


def _replays() -> list[Record]:
    source = {"document": "NVIDIA Jetson AGX Orin Series data sheet", "where": "p. 7", "grade": "quoted"}
    blank = {"factor": None, "factor_text": None, "parts": [], "source": None, "why": None, "sourced": None}
    rate = {
        "what": "units.tensor_core.macs_per_clock.int8",
        "assumed": "64 MAC",
        "sourced": "512 MAC",
        "source": source,
    }
    op = {"what": "ops_per_mac", "assumed": "1 op/MAC", "sourced": "2 op/MAC", "factor": 0.5, "factor_text": "1/2"}
    overhead = {"what": "launch_overhead", "assumed": "10 µs", "why": "no source, kept as assumed"}
    product = ["1/8 (macs_per_clock.int8)", "1/2 (a MAC counted as one op)"]
    peak = {"what": "peak tensor_core int8", "assumed": "1.253 TOP/s", "sourced": "20.05 TOP/s", "parts": product}
    late = {"what": "latency GPU", "printed": "62.3 µs", "replayed": "62.28 µs", "sourced": "30.84 µs"}
    group = {"group": "MLP 1024, batch 16, 30 W", "document": "Latency sanity table", "file": "golden/replays/001.yaml"}
    return [
        {
            **group,
            "id": f"001-{label}",
            "title": f"MLP 1024, batch 16, 30 W: {label}",
            "label": label,
            "line": line,
            "hardware": hardware,
            "at": "30w" if "jetson" in hardware else None,
            "assumptions": [
                blank | rate | {"factor": 0.125, "factor_text": "1/8"},
                blank | op,
                blank | overhead,
                blank | peak | {"factor": 0.0625, "factor_text": "1/16"},
            ],
            "figures": [late | {"factor_text": "2.02", "outcome": "pass"}],
        }
        for label, hardware, line in [("GPU", "nvidia/jetson-agx-orin-64gb", 12), ("KPU", "stillwater/kpu-t256", 30)]
    ]


def _mutants(*counts: int) -> Record:
    """Of so many mutants: killable, killed by independent sources, within digits, uncorroborated, equivalent, killed
    besides."""
    names = ("mutants", "killable", "killed_independently", "within_digits", "uncorroborated", "equivalent", "killed")
    found = dict(zip(names, counts, strict=True))
    found["killed"] += found["killed_independently"]
    seen = found["killed"] + found["equivalent"]
    lost = found["killable"] - found["killed_independently"]
    return found | {"survived": lost, "unseen": found["mutants"] - seen}


def _mutation() -> Record:
    """T4's bus, of which a slip survives, and its TDP, which no independent claim speaks of."""
    bus, tdp = _mutants(7, 5, 4, 2, 0, 0, 0), _mutants(5, 0, 0, 0, 4, 1, 3)
    file = f"{SPECS}/hardware/nvidia/t4.yaml"
    place = {"subject": "nvidia/t4", "at": None, "path": "memories.gddr6.bus", "file": file, "line": 21}
    power = {"subject": "nvidia/t4", "at": "low", "path": "tdp", "file": file, "line": 10, "display": "70 W"}
    slip = {"class": "digit", "text": "5 and 6 are exchanged", "mutated": "265 bit", "ratio": 265 / 256}
    wish = "bandwidth: gddr6 at golden/peaks/nvidia/t4.yaml:12, if it allowed ±0.2 % and not ±5 %"
    return {
        "score": 7 / 11,
        "independent": 4 / 11,
        "floor": 0.6,
        "independent_floor": 0.35,
        "holds": True,
        "definitions": {"unseen": "changes a figure, and no claim fails"},
        "counts": _mutants(12, 5, 4, 2, 4, 1, 3) | {"refused": 6},
        "gross": {"mutants": 3, "killed": 3},
        "equivalents": {"nothing is computed with the fact": 1},
        "kinds": [
            tdp | {"name": "power", "score": 3 / 4, "independent": 0.0},
            bus | {"name": "bandwidth", "score": 4 / 7, "independent": 4 / 7},
        ],
        "classes": [
            bus | {"name": "digit", "says": "a digit is off by one", "refused": 2},
            tdp | {"name": "factor-2", "says": "twice or half", "refused": 4},
        ],
        "subjects": [
            _mutants(12, 5, 4, 2, 4, 1, 3)
            | {"id": "nvidia/t4", "architecture": False, "file": file, "score": 7 / 11, "independent": 4 / 11}
        ],
        "guards": {"figures": 2, "unguarded": 1, "reasoned": 1, "repeated": 0, "ceiling": 5}
        | {
            part: [{"name": name, "figures": 1, "unguarded": 1, "reasoned": 1, "repeated": 0}]
            for part, name in (("kinds", "power"), ("files", file))
        },
        "facts": [
            bus
            | place
            | {"display": "256 bit", "unseen_classes": ["digit"], "would_kill": "bandwidth: gddr6, printed"}
            | {"kind": "bandwidth", "reason": None},
            tdp
            | power
            | {"unseen_classes": ["factor-2"], "would_kill": "tdp: rated at low, from elsewhere"}
            | {"kind": "power", "reason": "one document says it"},
        ],
        "survivors": [place | slip | {"display": "256 bit", "would_kill": wish}],
    }
