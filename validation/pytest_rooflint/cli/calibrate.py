"""`rooflint calibrate`: fit the constants of kernel times again, list regressions, and compare with measurements."""

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from pytest_rooflint.cli import progress
from pytest_rooflint.cli.calibrate_power import power
from pytest_rooflint.golden.workloads import build
from pytest_rooflint.recordings import files
from rooflint.api.devices import registry
from rooflint.base.errors import RooflintError, shown
from rooflint.base.files import write_atomically
from rooflint.base.precision import precision as precision_named
from rooflint.base.project import configured
from rooflint.base.shards import Workers
from rooflint.base.units import percent
from rooflint.cli import options
from rooflint.cli.options import Dask, Golden, Jobs, Ray, Specs
from rooflint.coefficients.library import Coefficients
from rooflint.hardware.device import KINDS, Hardware
from rooflint.hardware.registry import Registry
from rooflint.kernels.chip import chip_of
from rooflint.kernels.constants import ConstantsFile, constants_file
from rooflint.output.answer import write
from rooflint.output.deliver import deliver
from rooflint.output.sections import Cell, Table
from rooflint_calibration import anchors, device_answer, fits, package, whole_networks
from rooflint_calibration.base import NoCalibrationError, answer_request, model_at
from rooflint_calibration.fits import Calibration, Fit, calibrate, relative_changes, rewritten
from rooflint_calibration.regressions import answer, changes, compare
from rooflint_calibration.rows import Rows
from rooflint_calibration.topics import BESIDE_PRODUCTS, TOPICS
from rooflint_measure.recording import Recording, read

TOLERANCE = 0.02
"""A refitted constant within this share of the committed one is the same: solvers differ in the last digits."""

Check = Annotated[
    bool, typer.Option("--check", help=f"Write nothing; status 1 if a constant changes by over {TOLERANCE:.0%}.")
]
Data = Annotated[Path | None, typer.Option(help="Score a folder instead of the installed package; writes nothing.")]
Form = Annotated[str, typer.Option("--format", "-f", help="Format of the scores: text, json, csv or md.")]

app = typer.Typer(
    help="Compare the model with published measurements: power, and kernel times whose constants are fitted to them.",
    no_args_is_help=True,
    add_completion=False,
)
app.command()(power)


# ---- `rooflint calibrate device`: three figures of one GPU adjusted to products measured on it

File = Annotated[Path | None, typer.Argument(help="A recording of a GPU (rooflint measure anchors, record).")]


@app.command()
def device(
    file: File = None,
    published: Annotated[
        bool, typer.Option("--published", help="Without a recording: every published GPU by its own rows.")
    ] = False,
    hardware: Annotated[str, typer.Option("--hardware", help="Exact id of the device, if its name is ambiguous.")] = "",
    precision: Annotated[
        str, typer.Option("--precision", "-p", help="bf16 or fp16; by default the first in the recording.")
    ] = "",
    save: Annotated[Path | None, typer.Option(help="YAML for rooflint explain gemm --calibration.")] = None,
    form: options.Format = "",
    output: options.Output = None,
    specs: Specs = None,
) -> None:
    """Adjust launch, matrix units and memory of one GPU to its own null, peak and streaming products."""
    known = registry(specs)
    if published or file is None:
        if not published or file is not None or save is not None:
            raise RooflintError("want a recording of a GPU, or --published by itself")
        deliver(device_answer.published_answer(_published(known)), form, output)
        return
    recording = read(file)
    found = _found(file, recording, hardware, precision, known)
    deliver(device_answer.answer(found), form, output)
    if save:
        _save_figures(save, found, recording, known)


def _save_figures(file: Path, found: device_answer.Found, recording: Recording, known: Registry) -> None:
    device = found.hardware.id
    text = anchors.calibration_text(found.own, found.anchors, device, found.precision, recording, constants_file(known))
    anchors.check_calibration(file, text)
    _write(file, text)
    typer.echo(f"wrote {file}: rooflint explain gemm … -d {device} --calibration {file}", err=True)


def _found(file: Path, recording: Recording, stated: str, precision: str, known: Registry) -> device_answer.Found:
    """The figures of a recording. Raises RooflintError for one without anchors."""
    device = _device(file, recording, stated, known)
    name = anchors.precision_of(file, recording, precision and precision_named(precision).name)
    products = anchors.of_recording(recording, name)
    chip = chip_of(device, name, Coefficients(known).launches())
    shared = anchors.Setting(chip, constants_file(known).constants, name)
    found, why = _benefit(device, name, products, known)
    return device_answer.Found(
        hardware=device,
        precision=name,
        anchors=products,
        shared=shared,
        own=anchors.own_figures(products, shared),
        missing=tuple(anchors.missing(recording, name)),
        disturbed=tuple(row.name for row in anchors.recorded(recording, name) if not row.samples.quiet_s),
        benefit=found,
        no_benefit=why,
    )


def _device(file: Path, recording: Recording, stated: str, known: Registry) -> Hardware:
    """The GPU of a recording. Raises RooflintError for a CPU, and for an ambiguous name."""
    machine = recording.machine
    if not KINDS[machine.kind].has_kernel_models:
        raise RooflintError(
            f"{shown(file)}: want a recording of a GPU, found one of a {machine.kind} ({machine.device}); "
            "kernel times are modelled for GPUs only"
        )
    found = files.stated(stated, known) if stated else files.identified(machine, known)
    if found is None:
        raise RooflintError(f"{shown(file)}: cannot identify '{machine.device}'; add --hardware ID")
    return found


def _benefit(device: Hardware, precision: str, products: Rows, known: Registry) -> tuple[anchors.Benefit | None, str]:
    """Errors on published rows of the device, or why there are none."""
    if device.id not in package.FAMILY_OF or precision != TOPICS["gemm"].precision:
        return None, f"no {precision} products of {device.label} are published; --published shows other GPUs"
    try:
        data = package.data_folder()
        return anchors.benefit(device.id, data, known, constants_file(known), products), ""
    except package.NotInstalledError as error:
        return None, f"published products of {device.label} cannot be read: {error}"


def _published(known: Registry) -> dict[str, anchors.Benefit]:
    """The benefit for every published device, with anchors among its rows. Raises NotInstalledError."""
    file, data = constants_file(known), package.data_folder()
    return {name: anchors.benefit(name, data, known, file) for name in package.FAMILY_OF}


# ---- `rooflint calibrate gemm`, `attention` and `cores`: constants fitted to all published rows; `networks`: errors


@app.command()
def gemm(
    check: Check = False,
    data: Data = None,
    form: Form = "text",
    specs: Specs = None,
    jobs: Jobs = 1,
    dask: Dask = "",
    ray: Ray = "",
) -> None:
    """Fit matrix products with and without each family, score each fold on its family, and write specs/silicon.yaml."""
    known = registry(specs)
    file = constants_file(known)
    with progress.bar("calibrating", 15) as advance:  # nine devices, one fit of all, five without one family

        def begin(what: str) -> None:
            advance(what=what)

        rows = fits.measured(["gemm"], data or package.data_folder(), known, begin)
        fit = fits.gemm_fit(rows, file.constants, file.fitted("products"), file.fit().rows_per_family)
        found = calibrate(fit, begin, Workers(jobs, dask, ray))
    _finish(fit, found, file, ("left out", "regime"), form, check=check, save=data is None)


@app.command()
def attention(
    check: Check = False,
    data: Data = None,
    form: Form = "text",
    specs: Specs = None,
    jobs: Jobs = 1,
    dask: Dask = "",
    ray: Ray = "",
) -> None:
    """Fit streams, attention and FP8 in the same way, score all other topics, and write specs/silicon_ops.yaml."""
    known = registry(specs)
    file = constants_file(known)
    fit = fits.ops_fit(fits.measured(BESIDE_PRODUCTS, data or package.data_folder(), known), file)
    found = calibrate(fit, workers=Workers(jobs, dask, ray))
    _finish(fit, found, file, ("op", "left out", "part"), form, check=check, save=data is None)


@app.command()
def cores(
    check: Check = False,
    golden: Golden = None,
    form: Form = "text",
    specs: Specs = None,
    jobs: Jobs = 1,
    dask: Dask = "",
    ray: Ray = "",
) -> None:
    """Fit FP32 on CUDA cores to published tables in the same way, and write specs/silicon_cores.yaml."""
    known = registry(specs)
    fit = fits.cores_fit([folder.resolve() for folder in golden or configured("rooflint_golden")], known)
    found = calibrate(fit, workers=Workers(jobs, dask, ray))
    _finish(fit, found, constants_file(known), ("left out", "table"), form, check=check, save=True)


@app.command()
def networks(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; status 1 if an error changes.")] = False,
    golden: Golden = None,
    form: Form = "text",
    specs: Specs = None,
) -> None:
    """Score whole networks on published tables, to which nothing is fitted, and write the errors to specs/silicon.yaml.

    Each row is predicted by constants without the family of its GPU. Predictions of networks quote the errors.
    """
    known = registry(specs)
    spec_file = constants_file(known).file("products")
    roots = [folder.resolve() for folder in golden or configured("rooflint_golden")]
    found, written = whole_networks.held_out(roots, known, build), spec_file.spec.fit.networks
    typer.echo(write(network_table(found), form), nl=False)
    errors = {one.slug: one.errors(written[one.slug].name if one.slug in written else one.title) for one in found}
    if check:
        changed = [slug for slug in {**errors, **written} if errors.get(slug) != written.get(slug)]
        for slug in changed:
            typer.echo(f"{slug}: the errors in {spec_file.path} are others; run: rooflint calibrate networks", err=True)
        raise typer.Exit(1 if changed else 0)
    _write(spec_file.path, whole_networks.rewritten(spec_file.path.read_text(encoding="utf-8"), errors))
    typer.echo(f"wrote errors of {len(errors)} tables to {spec_file.path}", err=True)


def network_table(found: Sequence[whole_networks.Held]) -> Table:
    """Errors of each table, and of the rows of each family."""
    rows: list[tuple[Cell, ...]] = []
    for one in found:
        for family, score in {"all": one.score, **one.by_family}.items():
            rows.append((one.slug, family, score.rows, f"{100 * score.mape:.1f}", f"{100 * score.bias:.1f}"))
    return Table(("table", "left out", "rows", "error %", "bias %"), tuple(rows))


def score_table(found: Calibration, labels: tuple[str, ...]) -> Table:
    """Held-out scores beside those of baselines; `labels` are the columns that name a row."""
    columns: tuple[str, ...] = (*labels, "rows", "error %", "bias %", "roofline error %", "roofline bias %")
    scores, alpha_beta = found.scores, found.alpha_beta
    if alpha_beta:
        columns = (*columns, "α–β error %")
    subjects = dict.fromkeys(subject for subject, _, _ in scores)
    if "op" in labels:
        scores = {key: pair for subject in sorted(subjects) for key, pair in scores.items() if key[0] == subject}
    rows: list[tuple[Cell, ...]] = []
    for (subject, family, part), (one, baseline) in scores.items():
        names = {"op": subject, "table": subject, "left out": family, "part": part, "regime": part}
        shares = (one.mape, one.bias, baseline.mape, baseline.bias)
        figures = [f"{100 * share:.1f}" for share in shares]
        if alpha_beta:
            plain = alpha_beta.get((subject, family, part))
            figures.append(f"{100 * plain.mape:.1f}" if plain else "")
        rows.append((*(names[label] for label in labels), one.rows, *figures))
    return Table(columns, tuple(rows))


def _finish(
    fit: Fit, found: Calibration, file: ConstantsFile, labels: tuple[str, ...], form: str, *, check: bool, save: bool
) -> None:
    typer.echo(write(score_table(found, labels), form), nl=False)
    for note in fit.notes:
        typer.echo(note, err=True)
    if check:
        _check(found, fit, file)
    elif save:
        _save(found, fit, file)


def _check(found: Calibration, fit: Fit, file: ConstantsFile) -> None:
    """Raises Exit, with status 1 if a constant changes too much."""
    changed = relative_changes(found.constants, file.constants, fit.names)
    far = {name: share for name, share in changed.items() if abs(share) > TOLERANCE}
    for name, share in far.items():
        typer.echo(f"{name}: the fit is {share:+.1%} from the committed one", err=True)
    typer.echo(f"{len(changed) - len(far)} of {len(changed)} constants are reproduced within {TOLERANCE:.0%}", err=True)
    raise typer.Exit(1 if far else 0)


def _save(found: Calibration, fit: Fit, file: ConstantsFile) -> None:
    """Write the constants with the package that they were fitted to and the day. Raises RooflintError."""
    group = next(iter(fit.names))
    path, facts = file.file(group).path, {"day": datetime.datetime.now(tz=datetime.UTC).date().isoformat()}
    if group != "cores":
        facts["package"] = package.label()
    _write(path, rewritten(path.read_text(encoding="utf-8"), found, fit.names, facts))
    typer.echo(f"wrote {sum(map(len, fit.names.values()))} constants to {path}", err=True)


def _write(file: Path, text: str) -> None:
    try:
        write_atomically(file, text)
    except OSError as error:
        raise RooflintError(f"{file}: cannot be written ({error.strerror})") from None


# ---- `rooflint calibrate regressions`: measured rows that are predicted worse than at a revision

REGRESSION_TOLERANCE = 0.01
"""Share of a family's rows that may regress if fewer improve: refitted constants always move a few."""
ROWS = 500
"""Rows of each regime of each device."""


@app.command()
def regressions(
    base: Annotated[
        str | None, typer.Option(help="Revision to compare with; by default where HEAD left the default branch.")
    ] = None,
    topics: Annotated[
        list[str] | None, typer.Option("--op", help="gemm, prefill, decode, …; may be repeated. Default: all.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(help="Share of a family's rows that may regress.", min=0, max=1)
    ] = REGRESSION_TOLERANCE,
    rows: Annotated[int, typer.Option(help="Rows of each regime of each device.", min=1)] = ROWS,
    form: options.Format = "",
    output: options.Output = None,
) -> None:
    """List measured rows that a revision predicts well and this tree predicts badly; status 1 if a family fails.

    A family fails if more of its rows regressed than is tolerated, and more than improved. Averages do not count.
    """
    for name in topics or ():
        if name not in TOPICS:
            raise RooflintError(f"--op: want one of {', '.join(TOPICS)}, found '{name}'")
    known = Registry()
    try:
        with model_at(base, Path.cwd()) as old:
            label, between = old.label, changes(old.specs)
            found = compare(known, topics or list(TOPICS), rows, old.ask, lambda asked: answer_request(asked, known))
    except NoCalibrationError as error:
        typer.echo(str(error))
        return
    deliver(answer(found, label, tolerance, between), form, output)
    failed = [f"{one.topic} {one.family}" for one in found.families if one.fails(tolerance)]
    if failed:
        typer.echo(f"failed: over {percent(tolerance)} of the rows of {', '.join(failed)} regressed", err=True)
        raise typer.Exit(1)
