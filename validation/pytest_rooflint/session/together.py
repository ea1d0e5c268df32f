"""One message of xdist for several claims instead of five for each: a call brings the times of setup and teardown.

xdist sends the start, three reports and the end of each item, which takes longer than most claims. The controller hands
all five to its plugins, in their order. Whatever is unusual is sent as it is: a failure, captured output, a report on
which another plugin noted something. The message is one byte string, because xdist packs each text by itself. It also
brings the claims judged just before that did not fail.
"""

import marshal
import time
from copy import copy
from typing import Any

import pytest

TOGETHER = pytest.StashKey["Together"]()
"""Of a worker."""
PLAIN = frozenset(vars(pytest.TestReport("", ("", 0, ""), {}, "passed", None, "call")))
"""What a report has on which nothing was noted."""
PACKED = "rooflint_packed"
FORMAT = 4
"""Of `marshal`, which all versions of Python read that pytest runs on."""
MOST = 32
"""Claims of one message."""
LONGEST_S = 0.2
"""A claim that was judged this long ago waits for no other."""


class Together:
    """The hooks of claims in a worker, which are called as pytest calls them but for start, reports and end."""

    def __init__(self, config: pytest.Config) -> None:
        self.is_last = True
        """Whether no claim follows the one that runs."""
        self.positions: dict[str, int] = {}
        """Of all items in the worker's list, by node ID."""
        self._config = config
        self._relay: Any = None
        self._judged: list[pytest.TestReport] = []
        """Calls of claims that are not sent yet."""
        self._since = 0.0
        """When the first of them was judged."""
        self._start: dict[str, Any] | None = None
        """What is said at the start, until it is sent."""
        self._reports: list[pytest.TestReport] = []
        """Those that wait."""

    def over(self, relay: Any) -> "Together":
        """The same for the hooks of one claim; a worker runs them one after the other."""
        self._relay = relay
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._relay, name)

    def pytest_runtest_logstart(self, **said: Any) -> None:
        """Wait for the reports."""
        self._start = said

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Wait for the last of three usual reports, and send one."""
        self._reports.append(report)
        if report.failed or report.outcome not in ("passed", "skipped") or report.sections:
            self._send()
        elif report.when == "teardown":
            self._send_together() if self._are_usual() else self._send()

    def pytest_runtest_logfinish(self, **said: Any) -> None:
        """Follow what was sent; the controller ends by itself what it started."""
        if self._reports:
            self._send()
        if self._start is None:
            self._relay.pytest_runtest_logfinish(**said)
        self._start = None

    def _are_usual(self) -> bool:
        """Whether setup and teardown say nothing that the call does not."""
        if self._start is None or [one.when for one in self._reports] != ["setup", "call", "teardown"]:
            return False
        setup, call, teardown = self._reports
        said = not setup.user_properties and teardown.user_properties == call.user_properties
        return said and all(one.passed and vars(one).keys() <= PLAIN for one in (setup, teardown))

    def _send_together(self) -> None:
        setup, call, teardown = self._reports
        self._reports = []
        vars(call)["rooflint_beside"] = [[one.duration, one.start, one.stop] for one in (setup, teardown)]
        now = time.monotonic()
        if not self._judged:
            self._since = now
        self._judged.append(call)
        if self.is_last or len(self._judged) >= MOST or now - self._since >= LONGEST_S:
            self.send_judged()

    def send_judged(self) -> None:
        """Send the calls that wait, as one report: that of the last claim, which xdist takes for the one that runs."""
        if self._judged:
            self._send_report(self._judged.pop())

    def _send_report(self, report: pytest.TestReport) -> None:
        """Send a report and the calls that wait."""
        if self._judged:
            vars(report)["rooflint_earlier"] = [self._packed(one) for one in self._judged]
            self._judged = []
        self._relay.pytest_runtest_logreport(report=report)

    def _packed(self, report: pytest.TestReport) -> dict[str, Any]:
        vars(report)["item_index"] = self.positions[report.nodeid]  # as xdist has it
        data: dict[str, Any] = self._relay.pytest_report_to_serializable(config=self._config, report=report)
        return data

    def _send(self) -> None:
        """What waits, as it is."""
        if self._start is not None:
            self._relay.pytest_runtest_logstart(**self._start)
        waiting, self._start, self._reports = self._reports, None, []
        for report in waiting:
            self._send_report(report)


class Packed:
    """Packs what a worker sends together as one byte string, and says when it has to be sent."""

    def __init__(self, together: Together) -> None:
        self.together = together

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note the position of each item."""
        self.together.positions = {item.nodeid: position for position, item in enumerate(session.items)}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Let claims wait for other claims only."""
        self.together.is_last = type(nextitem) is not type(item)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Send what waits where the session ends early."""
        self.together.send_judged()

    @pytest.hookimpl(wrapper=True)
    def pytest_report_to_serializable(self, report: pytest.TestReport) -> Any:
        """As pytest turns it into data, packed; what cannot be packed is sent as xdist does it."""
        data = yield
        if not hasattr(report, "rooflint_beside"):
            return data
        try:
            return {PACKED: marshal.dumps(data, FORMAT)}
        except ValueError:  # an object that another plugin noted
            return data


class Apart:
    """Takes apart in the controller what a worker sent together."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.hook = config.hook
        self.crashed: list[str] = []
        """Workers that did."""

    @pytest.hookimpl(wrapper=True)
    def pytest_report_from_serializable(self, data: dict[str, Any]) -> Any:
        """Unpack what `Packed` packed, before pytest makes it a report."""
        if packed := data.pop(PACKED, None):
            data.update(marshal.loads(packed))  # from a worker, which runs the same tests as this process
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Any:
        """The claims before it; then start and setup before the call, teardown and end behind it."""
        for data in vars(report).pop("rooflint_earlier", ()):
            earlier = self.hook.pytest_report_from_serializable(config=self.config, data=data)
            vars(earlier).update({name: getattr(report, name) for name in ("node", "worker_id", "testrun_uid")})
            self.hook.pytest_runtest_logreport(report=earlier)
        beside = vars(report).pop("rooflint_beside", None)
        if beside is None:
            return (yield)
        setup, teardown = _report(report, "setup", beside[0]), _report(report, "teardown", beside[1])
        setup.user_properties = []
        said = {"nodeid": report.nodeid, "location": report.location}
        self.hook.pytest_runtest_logstart(**said)
        self.hook.pytest_runtest_logreport(report=setup)
        result = yield
        self.hook.pytest_runtest_logreport(report=teardown)
        self.hook.pytest_runtest_logfinish(**said)
        return result

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Note workers that crashed."""
        if error:
            self.crashed.append(node.gateway.id)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what a crash lost."""
        for worker in self.crashed:
            terminalreporter.write_line(
                f"rooflint: {worker} crashed; up to {MOST - 1} claims that passed in it are not counted"
            )


def _report(call: pytest.TestReport, when: str, times: list[float]) -> pytest.TestReport:
    """A report that passed, of another phase than the call."""
    found = copy(call)
    for name in [name for name in vars(found) if name == "wasxfail" or name.startswith("rooflint_")]:
        delattr(found, name)
    vars(found).update(when=when, outcome="passed", longrepr=None)
    found.duration, found.start, found.stop = times
    return found
