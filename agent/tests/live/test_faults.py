"""Faults at random instants of an episode: whoever is killed, production answers and is as it was.

Each round attaches to a server that is asked all the time, waits until canary and baseline get connections,
and then kills some of the session's process, the keeper and the arms, in an order that the seed draws, with
an administrator's edit of production's file between. TRIMTAB_FAULTS sets how many rounds there are.
"""

import os
import random
import signal
import socket
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from asking import asking
from live_sessions import Attach
from trimtab_agent.live import steering
from trimtab_agent.live.listening import take
from trimtab_agent.live.restoring import Note, put_back_left_behind
from trimtab_agent.paths import VarPaths
from trimtab_agent.runtime import open_repository
from waiting import until

pytestmark = [pytest.mark.live, pytest.mark.kernel]

ROUNDS = int(os.environ.get("TRIMTAB_FAULTS", "6"))
BACK_S = 20.0  # five seconds on a machine with nothing else to do
START_S = 60.0
VICTIMS = ("session", "keeper", "baseline", "canary")
# A connection whose handshake ended when an arm was killed may be that arm's, accepted and not yet answered.
# It takes a moment to die: the workers of a killed main process go on until the kernel has told them.
HELD_S = 0.5


class Round:
    """One session on a server, its processes, and what an administrator sees of production."""

    def __init__(self, server, settings, chance):
        self.server, self.chance, self.seen = server, chance, server.seen
        self.notes = VarPaths(settings.var.resolve()).live_notes
        self.migrate = None
        self.killed_arms_s, self.now = [], ()
        self.attach = Attach(settings, "live", "attach", str(server.process.pid), "--mode", "canary")

    def until_trying(self, repository):
        """The arms get connections; who is who."""
        line = self.attach.wait_for_line("Live session ")
        number = int(line.split()[2].rstrip("."))
        until(lambda: repository.live_session(number).share > 0, START_S)
        (note,) = (Note.read(path) for path in self.notes.glob("*.json"))
        self.migrate = note.touched.migrate_before
        arms = [arm.process.pid for arm in note.touched.arms]
        self.pids = dict(zip(VICTIMS, (self.attach.process.pid, note.touched.keeper.pid, *arms), strict=True))
        return number

    def kill(self, victim):
        """With -9; of an arm its main process alone, or all of it."""
        pids = [self.pids[victim]]
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            if victim in ("baseline", "canary"):
                self.killed_arms_s.append(time.monotonic())
                if self.chance.random() < 0.5:
                    pids += [child.pid for child in psutil.Process(pids[0]).children(recursive=True)]
            for pid in pids:
                os.kill(pid, signal.SIGKILL)

    def edit(self):
        """As an administrator does."""
        self.server.file.write_text(self.server.file.read_text() + f"# {self.chance.random()}\n")

    def is_as_before(self):
        """Production alone listens, and without the option; the setting is what it was, nothing is noted."""
        with take(self.seen.pid, self.seen.listeners[0].descriptor) as taken:
            option = taken.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT)
        listening = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        port = f":{self.server.port:04X}"
        sockets = sum(line[3] == "0A" and line[1].endswith(port) for line in listening)
        notes = list(self.notes.glob("*.json"))
        # Where the session has not touched the setting, it may be somebody else's.
        migrate = None if self.migrate is None else steering.MIGRATE.read_text().strip()
        self.now = (option, sockets, migrate, notes)
        return self.now == (0, 1, self.migrate, [])

    def was_held(self, failure):
        """Whether a request may have been with an arm when that was killed."""
        return any(abs(failure.began_s - at_s) < HELD_S for at_s in self.killed_arms_s)

    def end(self):
        """Whatever still lives of the session."""
        if self.attach.process.poll() is None:
            self.attach.process.send_signal(signal.SIGINT)
        self.attach.finish()
        self.attach.process.stdout.close()


@pytest.mark.timeout(120 + 60 * ROUNDS)
@pytest.mark.parametrize("name", ["nginx", "core"])
def test_whoever_is_killed_production_answers_everything_and_is_as_before(name, production, settings):
    """What the killed arms themselves had accepted is counted apart."""
    server, chance = production(name), random.Random(name)
    held = rounds = 0
    slowest_s = 0.0
    with open_repository(settings) as repository, asking(server.port, server.page) as asked:
        until(lambda: asked.answered > 20)
        for rounds in range(1, ROUNDS // 2 + 1):
            begun = Round(server, settings, chance)
            try:
                begun.until_trying(repository)
                victims = chance.sample(VICTIMS, chance.randint(1, len(VICTIMS)))
                story = f"round {rounds}: {', '.join(victims)}"
                edit_at = chance.randrange(len(victims))
                for place, victim in enumerate(victims):
                    if place == edit_at:
                        begun.edit()
                        edited = server.file.read_bytes()
                    begun.kill(victim)
                if "session" in victims and "keeper" in victims:
                    begun.attach.process.wait()
                    until(lambda: not psutil.pid_exists(begun.pids["keeper"]))  # noqa: B023 - called here
                    put_back_left_behind(begun.notes)  # what the next Trimtab does
                killed_s = time.monotonic()
                until(begun.is_as_before, BACK_S)
                slowest_s = max(slowest_s, time.monotonic() - killed_s)
            except AssertionError as error:
                raise AssertionError(f"{story}: {error}; now {begun.now}, before {begun.migrate}") from error
            finally:
                begun.end()
            assert server.file.read_bytes() == edited, story
            answered = asked.answered
            until(lambda: asked.answered > answered + 20)  # noqa: B023 - called here
            lost = [failure for failure in asked.failures if not begun.was_held(failure)]
            assert lost == [], (story, begun.killed_arms_s)
            held += len(asked.failures)
            asked.failures.clear()
    print(
        f"{name}: {rounds} rounds, {asked.answered:,} requests answered, {held} lost with a killed arm; "
        f"as before after {slowest_s:.1f} s at most"
    )
    assert held <= 10 * rounds
