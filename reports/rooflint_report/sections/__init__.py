"""Sections of the report in reading order: each is one module here, one template of its name, and one line below."""

from rooflint_report.sections import (
    claims,
    coverage,
    devices,
    disputed,
    documents,
    failures,
    measured,
    moved,
    mutation,
    power,
    silicon,
    slack,
    systems,
    unsettled,
)
from rooflint_report.sections.section import Section

SECTIONS: tuple[Section, ...] = (
    Section("failures", "Failures", failures.view),
    Section("moved", "Moved", moved.view),
    Section("unsettled", "Open", unsettled.view),
    Section("claims", "Claims", claims.view),
    Section("devices", "Devices", devices.view),
    Section("systems", "Systems", systems.view),
    Section("coverage", "Coverage", coverage.view),
    Section("mutation", "Mutation", mutation.view),
    Section("slack", "Slack", slack.view),
    Section("power", "Power", power.view),
    Section("measured", "Measured", measured.view),
    Section("silicon", "Silicon", silicon.view),
    Section("disputed", "Disputed", disputed.view),
    Section("documents", "Documents", documents.view),
    Section("legend", "Legend", view=lambda page: page),
)
