"""Workers of xdist send one message for a usual claim; plugins of the controller see what they see without xdist."""

import json
import re
from types import SimpleNamespace

import pytest

from pytest_rooflint.session.together import LONGEST_S, MOST, PACKED, Apart, Packed, Together

NODE = {"nodeid": "golden/x1.yaml::a", "location": ("golden/x1.yaml", 3, "a")}
PHASES = ("setup", "call", "teardown")
EVENTS = ("pytest_runtest_logstart", "pytest_runtest_logreport", "pytest_runtest_logfinish")


def report(when, outcome="passed", node=NODE, **noted):
    """A report as pytest makes it, with whatever was noted on it."""
    start = {"setup": 1.0, "call": 2.0, "teardown": 3.0}[when]
    return pytest.TestReport(*node.values(), {"a": 1}, outcome, None, when, start=start, stop=start + 0.5, **noted)


def heard():
    """A list, and hooks that add what they are told to it."""
    told = []
    hooks = {name: lambda name=name, **said: told.append((name, said)) for name in EVENTS}
    return told, SimpleNamespace(**hooks, pytest_report_to_serializable=lambda config, report: report)


def worker():
    """The hooks of claims in a worker, and what they send."""
    told, relay = heard()
    return Together(None).over(relay), told


def sent(*reports):
    """What a worker sends of a claim with these reports."""
    together, told = worker()
    run(together, NODE, *reports)
    return [said.get("report", name) for name, said in told]


def run(together, node, *reports):
    """Tell the hooks of a claim with these reports."""
    together.positions[node["nodeid"]] = int(node["nodeid"][-1], 16)
    together.pytest_runtest_logstart(**node)
    for one in reports:
        together.pytest_runtest_logreport(report=one)
    together.pytest_runtest_logfinish(**node)


def claims(together, outcomes):
    """Run a claim with each outcome; another one follows."""
    for position, outcome in enumerate(outcomes):
        node = {"nodeid": f"golden/x1.yaml::{position}", "location": NODE["location"]}
        together.is_last = False
        run(together, node, *(report(when, outcome if when == "call" else "passed", node) for when in PHASES))


def test_a_usual_claim_is_one_message():
    (message,) = sent(report("setup"), report("call", rooflint_brief={}), report("teardown"))
    assert (message.when, message.rooflint_beside) == ("call", [[0.0, 1.0, 1.5], [0.0, 3.0, 3.5]])


def test_a_claim_brings_those_before_it():
    together, told = worker()
    claims(together, ["passed"] * 3)
    assert not told
    together.is_last = True
    run(together, NODE, *map(report, PHASES))
    ((_, said),) = told
    assert [one.item_index for one in said["report"].rooflint_earlier] == [0, 1, 2]


def test_no_claim_waits_behind_a_failure_or_many_others_or_at_the_end():
    together, told = worker()
    claims(together, ["passed", "failed"])
    assert [name for name, _ in told] == [EVENTS[0], *[EVENTS[1]] * 3, EVENTS[2]]
    assert [one.nodeid for one in told[1][1]["report"].rooflint_earlier] == ["golden/x1.yaml::0"]
    told.clear()
    together.is_last = False
    for _ in range(MOST + 1):
        run(together, NODE, *map(report, PHASES))
    ((_, said),) = told
    assert len(said["report"].rooflint_earlier) == MOST - 1
    Packed(together).pytest_sessionfinish()
    assert len(told) == 2
    assert not hasattr(told[1][1]["report"], "rooflint_earlier")


def test_a_claim_that_waited_long_is_sent(monkeypatch):
    together, told = worker()
    times = iter((0.0, LONGEST_S))
    monkeypatch.setattr("time.monotonic", lambda: next(times))
    claims(together, ["passed"] * 2)
    assert len(told) == 1


@pytest.mark.parametrize(
    "reports",
    [
        (report("setup", "failed"), report("teardown")),
        (report("setup"), report("call", "failed"), report("teardown")),
        (report("setup"), report("call"), report("teardown", "failed")),
        (report("setup"), report("call", sections=[("Captured log call", "it")]), report("teardown")),
        (report("setup", extras=[1]), report("call"), report("teardown")),
        (report("setup", user_properties=[("a", 1)]), report("call"), report("teardown")),
        (report("setup", "skipped"), report("teardown")),
        (report("setup"), report("call", "rerun"), report("setup"), report("call"), report("teardown")),
    ],
)
def test_whatever_is_unusual_is_sent_as_it_is(reports):
    assert sent(*reports) == [EVENTS[0], *reports, EVENTS[2]]
    assert not any(hasattr(one, "rooflint_beside") for one in reports)


def test_the_controller_hands_out_all_five_in_their_order():
    told, hooks = heard()
    (message,) = sent(report("setup"), report("call", "skipped", wasxfail="why"), report("teardown"))
    taken = Apart(SimpleNamespace(hook=hooks)).pytest_runtest_logreport(message)
    next(taken)  # where the other plugins see the call
    assert [name for name, _ in told] == list(EVENTS[:2])
    with pytest.raises(StopIteration):
        next(taken)
    assert [name for name, _ in told] == [*EVENTS[:2], *EVENTS[1:]]
    setup, teardown = (said["report"] for name, said in told if "report" in said)
    for one, when, start in ((setup, "setup", 1.0), (teardown, "teardown", 3.0)):
        assert (one.when, one.outcome, one.start, one.stop) == (when, "passed", start, start + 0.5)
        assert not hasattr(one, "wasxfail")


def test_a_message_is_packed_and_is_the_same_report_when_unpacked():
    noted = {"rooflint_brief": {"id": "a"}, "wasxfail": "why", "user_properties": [("a", (1, 2.5))]}
    (message,) = sent(
        report("setup"),
        report("call", "skipped", **noted),
        report("teardown", user_properties=noted["user_properties"]),
    )
    plain = message._to_json() | {"$report_type": "TestReport"}
    packing = Packed(None).pytest_report_to_serializable(message)
    next(packing)
    with pytest.raises(StopIteration) as packed:
        packing.send(plain)
    assert [*packed.value.value] == [PACKED]
    data = packed.value.value | {"worker_id": "gw0"}
    unpacking = Apart(SimpleNamespace(hook=None)).pytest_report_from_serializable(data)
    next(unpacking)  # where pytest makes it a report
    assert data == plain | {"worker_id": "gw0"}


@pytest.mark.parametrize("report", [report("setup"), report("call", rooflint_beside=[], it=object())])
def test_what_is_sent_alone_or_cannot_be_packed_goes_as_pytest_has_it(report):
    plain = vars(report)
    packing = Packed(None).pytest_report_to_serializable(report)
    next(packing)
    with pytest.raises(StopIteration) as packed:
        packing.send(plain)
    assert packed.value.value is plain


RECORDER = """
import json, os

def pytest_runtest_logreport(report):
    if "PYTEST_XDIST_WORKER" not in os.environ:
        with open("reports.txt", "a") as file:
            print(json.dumps([report.nodeid, report.when, report.outcome, report.user_properties]), file=file)
"""


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("-p", "rerunfailures", "--reruns", "1")], ids=["once", "again"])
def test_plugins_of_the_controller_see_the_same_with_xdist_and_without(tiny, options):
    tiny.edit("specs/hardware/acme/x1.yaml", "int8: [4096 MAC", "int8: [2048 MAC")
    tiny.write("conftest.py", RECORDER)
    found = []
    for workers in ((), ("-n", "2")):
        tiny.write("reports.txt", "")
        assert tiny.run(*options, *workers, "--junitxml", "j.xml").ret == 1
        reports = [json.loads(line) for line in tiny.read("reports.txt").splitlines()]
        cases = re.findall(r'<testcase classname="([^"]*)" name="([^"]*)"', tiny.read("j.xml"))
        of_item = {}
        for nodeid, *rest in reports:
            of_item.setdefault(nodeid, []).append(rest)
        found.append((of_item, sorted(cases), tiny.read("j.xml").count("<failure")))
    assert found[0] == found[1]


SENT = """
import os

def pytest_report_to_serializable(report):
    if "PYTEST_XDIST_WORKER" in os.environ and "closed-world" not in report.nodeid:
        with open("sent.txt", "a") as file:
            print(report.when, file=file)
"""


CRASH = """
import os

def pytest_runtest_call():
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw0":
        os._exit(1)
"""


@pytest.mark.slow
def test_a_worker_that_crashes_is_named_with_what_it_may_have_lost(tiny):
    tiny.write("conftest.py", CRASH)
    result = tiny.run("-n", "2")
    assert result.ret == 1
    assert "crashed; up to 31 claims that passed in it are not counted" in result.stdout.str()


@pytest.mark.slow
def test_a_worker_sends_the_call_of_each_claim_and_nothing_else(tiny):
    tiny.write("conftest.py", SENT)
    assert tiny.run("-n", "2").ret == 0
    assert {*tiny.read("sent.txt").split()} == {"call"}
