"""What production tells on its status page (stub_status of nginx, mod_status of Apache), if its file has one.

It tells how many requests there were and how many connections are open: beside the log, which tells no
connections, or in its place. It is asked by a direct line (direct.py), so it is production that answers,
whoever shares its ports.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus

from trimtab_tuner.live.observed import CLASSES, Replies, Served
from trimtab_tuner.targets.base import RenderError, Target
from trimtab_tuner.targets.beside import StatusPage

from trimtab_agent.errors import HostError, SpecError
from trimtab_agent.live.direct import Line, NoAnswer
from trimtab_agent.live.its_file import read_its_file
from trimtab_agent.live.observation import ObservationLost
from trimtab_agent.live.production_log import ProductionLog
from trimtab_agent.live.running import RunningServer

ANSWER_S = 0.5
# For so long it may not answer: what it counts meanwhile is told afterwards.
SILENT_S = 10.0


class StatusCounts:
    """The status page at the end of a line; raises NoAnswer if it does not tell of requests now."""

    tells_requests = True
    paths = ()

    def __init__(self, target: Target, line: Line, page: StatusPage) -> None:
        self._target, self._line, self._page = target, line, page
        self._before = self._totals()
        self._read_at_s = time.monotonic()

    @property
    def path(self) -> str:
        """What it asks for."""
        return self._page.path

    def read(self) -> Replies:
        """What was counted since the last reading, but for the request that asks, and its connection.

        Raises ObservationLost where it has told nothing for a while.
        """
        try:
            now = self._totals()
        except NoAnswer as error:
            if time.monotonic() - self._read_at_s > SILENT_S:
                raise ObservationLost(f"the status page tells nothing any more: {error.sentence}") from error
            return Replies()
        self._read_at_s = time.monotonic()
        if now["requests"] < self._before["requests"]:  # it was started anew
            self._before = dict.fromkeys(now, 0.0)
        passed = {name: value - self._before[name] for name, value in now.items()}
        self._before = now
        accepted = passed.get("connections_accepted")
        return Replies(
            served=(Served(max(0, int(passed["requests"]) - 1)), *[Served()] * (CLASSES - 1)),
            bytes_sent=int(passed.get("bytes_sent", 0)),
            connections_accepted=None if accepted is None else int(accepted),
            connections_open=max(0, int(now["connections_open"]) - 1),
        )

    def close(self) -> None:
        """Ends the connection."""
        self._line.close()

    def _totals(self) -> Mapping[str, float]:
        """Raises NoAnswer."""
        status, body = self._line.get(self._page.path, self._page.host, ANSWER_S)
        said = self._target.parse_status(body.decode(errors="replace")) if status == HTTPStatus.OK else {}
        if "requests" not in said:
            raise NoAnswer(f"{self._page.path} is answered by {status}, and tells of no requests")
        return said


class LogWithCounts:
    """A log that tells of replies, with the connections that a status page tells of.

    Until the first line that can be understood is in the log, the page tells of requests too.
    """

    tells_requests = True

    def __init__(self, log: ProductionLog, counts: StatusCounts) -> None:
        self._log, self._counts = log, counts

    @property
    def paths(self) -> Sequence[str]:
        """Of the log."""
        return self._log.paths

    def read(self) -> Replies:
        """Both; raises ObservationLost."""
        counted, logged = self._counts.read(), self._log.read()
        return replace(
            logged if self._log.tells_requests else counted,
            connections_accepted=counted.connections_accepted,
            connections_open=counted.connections_open,
        )

    def close(self) -> None:
        """Closes both."""
        self._counts.close()
        self._log.close()


def status_counts(server: RunningServer) -> StatusCounts | None:
    """The status page of a running server; None where its file has none, or none that answers here."""
    if server.file is None or server.target.beside is None:
        return None
    try:
        pages = server.target.beside.status_pages(read_its_file(server).expanded)
    except (SpecError, HostError, RenderError):
        return None
    for page in pages:
        for listener in server.listeners:
            line = Line(listener)
            try:
                return StatusCounts(server.target, line, page)
            except NoAnswer:
                line.close()
    return None
