"""Devices whose predictions and powers look up a changed coefficient: the others need not be predicted again."""

from collections.abc import Collection, Iterator, Sequence
from functools import partial

from pytest_rooflint.history.side import Specs
from pytest_rooflint.suite.dependencies import Dependencies, tracked_facts
from rooflint.base.facts import Place
from rooflint.energy.model import Energies
from rooflint.energy.power import survey
from rooflint.prediction.ledger import Table, record
from rooflint.workloads.workload import Workload


def readers(side: Specs, devices: Sequence[str], places: Collection[Place]) -> Iterator[str]:
    """Those of the devices that look up a fact at one of the places.

    What is looked up depends on the device, the precision and the kinds of ops, not on their sizes, so that one op of
    each kind stands for all.
    """
    works = [every_kind(side.works)] if places else []
    for name in devices if places else ():
        noted = Dependencies()
        energies = Energies(side.energies.coefficients.through(partial(tracked_facts, dependencies=noted)))
        record([side.devices[name]], works, energies)
        for point in side.devices[name].points():
            survey(point, energies)
        if not noted.places.isdisjoint(places):
            yield name


def every_kind(works: Sequence[Table]) -> Table:
    """One table with an op of each kind of all tables, fused or not."""
    ops = {op.kind: op for table in works if table.work for op in table.work.rows()}
    return Table("every kind of op", 1, False, Workload.from_ops("every kind of op", ops.values()))
