"""`rooflint tdp registry [PATTERN]`: which devices can run at their printed peak within their printed power."""

from collections.abc import Iterator
from typing import Annotated

import typer

from rooflint.answers.tdp_registry import answer
from rooflint.commands import asked
from rooflint.commands.options import Specs
from rooflint.errors import RooflintError
from rooflint.hardware import Hardware
from rooflint.output import deliver
from rooflint.precision import precision as precision_named
from rooflint.specs import Registry
from rooflint.sustained import survey


def registry_command(
    pattern: Annotated[str, typer.Argument(help="Part of an id, or a glob such as 'nvidia/*h100*'; all without.")] = "",
    at: Annotated[str, typer.Option("--at", help="Only at this operating point, such as 30w.")] = "",
    modes: Annotated[bool, typer.Option("--modes", help="Also at every operating point.")] = False,
    precision: Annotated[str, typer.Option("--precision", "-p", help="Only this precision, in any case.")] = "",
    unit: Annotated[str, typer.Option(help="Only loads of this unit, such as tensor_core.")] = "",
    form: asked.Form = "",
    output: asked.Output = None,
    specs: Specs = None,
) -> None:
    """Compare what devices take at their dense peaks with the power that they are rated for."""
    if at and modes:
        raise RooflintError("--at names one operating point and --modes asks for all; want one of the two")
    wanted = precision_named(precision).name if precision else ""
    registry, energies = asked.energies_of(specs)
    devices = _devices(registry, pattern)
    _check_unit(devices, unit)
    points = list(_points(devices, at, modes))
    found = [one for hardware in points for one in survey(hardware, energies, wanted, unit)]
    deliver(answer(found, wanted, unit), form, output)


def _devices(registry: Registry, pattern: str) -> list[Hardware]:
    ids = registry.match(pattern) if pattern else registry.ids()
    if not ids:
        raise RooflintError(f"no device matches '{pattern}' ({len(registry.ids())} are known)")
    return [registry.get(name) for name in ids]


def _check_unit(devices: list[Hardware], unit: str) -> None:
    known = sorted({name for hardware in devices for name in hardware.units})
    if unit and unit not in known:
        raise RooflintError(f"--unit: want one of {', '.join(known) or 'none'}, found '{unit}'")


def _points(devices: list[Hardware], at: str, modes: bool) -> Iterator[Hardware]:
    """Each device at its own point, at one that is named, or at all. Raises RooflintError where none has that point."""
    if at:
        able = [hardware for hardware in devices if at in hardware.operating_points]
        if not able:
            known = sorted({name for hardware in devices for name in hardware.operating_points})
            wish = f"want one of {', '.join(known)}" if known else "no device asked for has an operating point"
            raise RooflintError(f"--at: {wish}, found '{at}'")
        yield from (hardware.at(at) for hardware in able)
        return
    for hardware in devices:
        yield hardware
        if modes:
            yield from map(hardware.at, hardware.operating_points)
