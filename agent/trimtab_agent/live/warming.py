"""What an arm is asked before anybody else asks it: the pages that production was asked for last.

So it has no cold caches when it gets its first connections, and a canary that answers with errors, or not at
all, is found before it has any. Only pages are asked for that may be asked for twice: GET, without a query,
answered with 200.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from http import HTTPStatus

from trimtab_agent.live.direct import Line, NoAnswer
from trimtab_agent.live.listening import Listener

ROUND_S = 0.3  # so long at a time: production is looked at in between
ROUNDS_OF_ALL = 2  # what a cache takes up at the second time only


class Warming:
    """Asks the arms (1, 2, … of the group of each listener) for these pages, a little at a time."""

    def __init__(self, listeners: Sequence[Listener], arms: Sequence[str], paths: Sequence[str]) -> None:
        self._arms = arms
        self._opened = ExitStack()
        self._lines = [
            [self._opened.enter_context(closing(Line(listener, index))) for listener in listeners]
            for index, _ in enumerate(arms, 1)
        ]
        self._left = self._order(list(paths) or ["/"])
        self._unanswered: set[str] = set()
        self.failure = ""
        """The sentence about an arm that fails where the first one does not; empty for none."""
        self.warmed: dict[str, int] = {}
        """The pages that were answered, with the last arm that did."""

    def go_on(self) -> bool:
        """For a moment; whether something is left to ask for."""
        deadline = time.monotonic() + ROUND_S
        for line, number, path in self._left:
            if path in self._unanswered:  # by the first arm: it says nothing about the others
                continue
            told = _failing(line, path)
            if told and number == 0:
                self._unanswered.add(path)
            elif told and (told := _failing(line, path)):  # twice: the first time may have been chance
                self.failure = f"the {self._arms[number]} {told} for {path}, before it has had any traffic"
                return False
            else:
                self.warmed[path] = number
            if time.monotonic() > deadline:
                return True
        return False

    def close(self) -> None:
        """Closes what is open."""
        self._opened.close()

    def _order(self, paths: Sequence[str]) -> Iterator[tuple[Line, int, str]]:
        for _ in range(ROUNDS_OF_ALL):
            for path in paths:
                for number, lines in enumerate(self._lines):
                    for line in lines:
                        yield line, number, path


def _failing(line: Line, path: str) -> str:
    """What the server does in place of answering; empty where it answers."""
    try:
        status, _ = line.get(path)
    except NoAnswer as error:
        return f"does not answer ({error.sentence})"
    return "" if status < HTTPStatus.INTERNAL_SERVER_ERROR else f"answers {status}"
