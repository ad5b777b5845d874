"""kill -9 of what live tuning has running, at random instants: production answers, and is as before.

In each round trimtab-load asks a real server all the time, with a connection for each request, and compares
every byte; beside it runs a `trimtab live` command. At a random instant after that has come to a state
(MOMENTS), some of its processes are killed in an order that the seed draws: the daemon, as the command itself
is called here, its keeper, and the servers beside production. An administrator may edit production's file
before or between, and may reload it. Then nothing may be left (`Round.left`), and production's file is the
administrator's.

Whoever survives puts everything back. Where nobody does, the next Trimtab does, here `trimtab live attach`:
daemon and keeper were both killed, or the daemon before it had a keeper. It also takes away the note about a
promoted file that an administrator has edited: that file stays, with the one from before beside it.

A killed server answers nothing of what it had accepted. So it is stopped first, and how many connections it
has is looked up: so many requests of a round may fail, and no other.

Eight rounds, half of them with each server; `make test-live-kill` sets TRIMTAB_KILLS=200.
"""

import os
import random
import re
import signal
import socket
import subprocess
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from empty_databases import empty_sqlite
from live_lab import Public, failed
from live_sessions import Attach, Better
from trimtab_agent.live import steering
from trimtab_agent.live.in_memory import PLACES, PREFIX
from trimtab_agent.live.listening import sockets_at, take
from trimtab_agent.live.restoring import sockets_of
from trimtab_agent.live.socket_diag import open_connections
from trimtab_agent.paths import VarPaths
from trimtab_agent.runtime import open_repository
from trimtab_agent.settings import AgentSettings
from trimtab_db.records import LiveDecisionKind, LiveState
from trimtab_tuner.workloads.content import file_content
from waiting import until

pytestmark = [pytest.mark.live, pytest.mark.kernel]

KILLS = int(os.environ.get("TRIMTAB_KILLS", "8"))
SEED = int(os.environ.get("TRIMTAB_KILL_SEED", "1"))
START_S = 300.0  # which only a fault reaches, also where others have the CPUs
BACK_S = 120.0  # the same; five seconds is what is wanted of a machine with nothing else to do
LONGEST_S = 1.0
# The servers of an episode have shares; they are about to start; a candidate gets into production's file, or
# is there; replicas listen.
MOMENTS = ("tries", "begins", "promotes", "replicas", "tries")
COMMANDS = {
    "tries": (Attach, ("attach", "--mode", "canary")),
    "begins": (Attach, ("attach", "--mode", "canary")),
    "promotes": (Better, ("attach", "--mode", "auto")),
    "replicas": (Better, ("replicas", "--number", "1")),
}
BESIDE = ("baseline", "canary", "replica 1")
KEEPER = "trimtab_agent.live."  # the modules that are run as one
RATE_RPS, FILE_BYTES, TIMEOUT_S = 500, 4096, 20


def directories():
    """Where servers beside a production have their files."""
    return {each for place in PLACES for each in place.glob(f"{PREFIX}*")}


def processes():
    """Keepers and servers beside a production, or what is about to become one: by pid, what tells so."""
    found = {}
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            command = (entry / "cmdline").read_bytes().decode(errors="replace")
            told = f"{command} {(entry / 'cwd').readlink()}"
            if command and (PREFIX in told or KEEPER in told):
                found[int(entry.name)] = told
    return found


def is_stopped(process):
    """Whether it does nothing any more."""
    try:
        return process.status() in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


@dataclass
class Met:
    """What rounds of a kind have met."""

    rounds: int = 0
    by_next: int = 0
    longest_s: float = 0.0
    connections: int = 0
    held: int = 0
    failed: int = 0

    def row(self, kind):
        """As a line of a table."""
        figures = (self.rounds, self.by_next, f"{self.longest_s:.1f} s", f"{self.connections:,}", self.held)
        return f"| {kind} | " + " | ".join(map(str, (*figures, self.failed))) + " |"


@dataclass
class Round:
    """A command beside a server, whose processes are killed."""

    server: object
    settings: AgentSettings
    chance: random.Random
    moment: str
    victims: list[str] = field(default_factory=list)
    edited_at: int | None = None
    held: int = 0

    def __post_init__(self):
        self.notes = VarPaths(self.settings.var.resolve()).live_notes
        self.before = (directories(), set(processes()), steering.MIGRATE.read_text())
        self.own = self.first = self.server.file.read_bytes()
        self.listener = self.server.seen.listeners[0]
        empty_sqlite(VarPaths(self.settings.var).database)
        self.public = self.asked()
        self.begin()

    def begin(self):
        """The command."""
        program, (verb, *options) = COMMANDS[self.moment]
        self.command = program(self.settings, "live", verb, str(self.server.process.pid), *options)

    def asked(self):
        """The public begins to ask."""
        output = self.server.output.with_name("public")
        command = (
            *(str(self.settings.load_path), "open", "--url", f"http://127.0.0.1:{self.server.port}/verified"),
            *("--rate", str(RATE_RPS), "--duration", "600", "--connection", "close", "--verify", "all"),
            *("--timeout", str(TIMEOUT_S), "--arrivals", "poisson"),
        )
        with output.open("w") as written:
            return Public(subprocess.Popen(command, stdout=written, text=True), output)

    def until_moment(self):
        """The command has come so far."""
        if self.moment == "replicas":
            until(self._replica_listens, START_S)
            return
        number = int(self.command.wait_for_line("Live session ").split()[2].rstrip("."))
        with open_repository(self.settings) as repository:
            until(lambda: self._is_there(repository, number), START_S)

    def _replica_listens(self):
        if self.command.process.poll() is not None:  # on a busy machine a replica may start too late for it
            end(self.command)
            self.begin()
        return sockets_at(self.server.process.pid, self.listener) == 2

    def _is_there(self, repository, number):
        now = repository.live_session(number)
        if self.moment == "tries":
            return now.share > 0
        if self.moment == "begins":
            return now.state is LiveState.EPISODE
        kinds = {decision.kind for decision in repository.live_decisions(number)}
        return now.state is LiveState.PROMOTING or LiveDecisionKind.PROMOTED in kinds

    def parts(self):
        """The processes that there are now, by who they are."""
        found = {"daemon": psutil.Process(self.command.process.pid)}
        with suppress(psutil.Error):
            for child in found["daemon"].children():
                if KEEPER in " ".join(child.cmdline()):
                    found["keeper"] = child
                    for arm in child.children():
                        command = " ".join(arm.cmdline())
                        found |= {name: arm for name in BESIDE if f"/{name}/" in command}
        return found

    def kill(self):
        """Some of them, in an order and with an edit that chance draws."""
        parts = self.parts()
        self.kept, names = "keeper" in parts, list(parts)
        if self.moment == "promotes":  # a keeper alone that is killed changes nothing of a promotion
            names = ["daemon", "keeper"] if self.kept and self.chance.random() < 0.5 else ["daemon"]
            self.victims = self.chance.sample(names, len(names))
        else:
            one = self.chance.random() < 0.5
            self.victims = self.chance.sample(names, 1 if one else self.chance.randint(1, len(names)))
        # What puts a promoted file back, and an editor that has read it before, would write over each other.
        places = [0] if self.moment == "promotes" else list(range(len(self.victims)))
        self.edited_at = self.chance.choice([None, *places])
        self.episode = directories() - self.before[0]
        for place, name in enumerate(self.victims):
            if place == self.edited_at:
                self.edit()
            with suppress(psutil.NoSuchProcess):
                self._kill(name, parts[name])

    def _kill(self, name, process):
        if name not in BESIDE:
            process.kill()
            return
        # Of nginx workers outlive a killed main process. The core's end with it, and accept nobody before.
        workers = process.children(recursive=True)
        alone = self.chance.random() < 0.5
        ending = [process] if alone and process.name() == "nginx" else [process, *workers]
        for each in (process, *workers):
            with suppress(psutil.NoSuchProcess):
                each.suspend()
        until(lambda: all(map(is_stopped, (process, *workers))))
        held = open_connections({self.server.port}) & sockets_of([each.pid for each in ending])
        self.held += len(held)
        for each in [process] if alone else ending:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        for each in set(workers).difference(ending):
            with suppress(psutil.NoSuchProcess):
                each.resume()

    def edit(self):
        """As an administrator does: a comment or a value, and perhaps a reload."""
        text, number = self.server.file.read_text(), self.chance.randint(500, 999)
        if self.chance.random() < 0.5:
            text = f"{text}# {number}\n"
        else:
            text = re.sub(r"(connections(?: =)? )\d+", rf"\g<1>{number}", text)
        self.write(text.encode())
        if self.chance.random() < 0.5:
            self.server.process.send_signal(signal.SIGHUP)

    def write(self, content):
        """The file is that at once, as editors do it."""
        new = self.server.file.with_name("new")
        new.write_bytes(content)
        new.replace(self.server.file)
        self.own = content

    def left(self):
        """What is not as it was before the command; nothing once everything is."""
        pid, file = self.server.process.pid, self.server.file
        there, running, migrate = self.before
        found = [str(each) for each in (self.notes.iterdir() if self.notes.exists() else ())]
        found += [str(each) for each in directories() - there]
        found += [f"process {each}: {told}" for each, told in processes().items() if each not in running]
        with take(pid, self.listener.descriptor) as taken:
            if taken.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT):
                found.append("SO_REUSEPORT")
        if (sockets := sockets_at(pid, self.listener)) != 1:
            found.append(f"{sockets} sockets")
        if (now := steering.MIGRATE.read_text()) != migrate:
            found.append(f"tcp_migrate_req = {now.strip()}")
        if file.read_bytes() != self.own:
            found.append(f"{file} is another")
        return found + [str(each) for each in self.beside() if not self._may_stay(each)]

    def beside(self):
        """What lies beside production's file and has to do with it."""
        file = self.server.file
        return [each for each in file.parent.glob(f"*{file.name}*") if each != file]

    def _may_stay(self, path):
        """Whether it is the file from before a promotion, which an administrator has edited since."""
        is_copy = ".before-trimtab-" in path.name and path.read_bytes() == self.first
        return self.promoted_is_edited and is_copy

    @property
    def promoted_is_edited(self):
        """Whether an administrator has edited what may be a candidate's text: it stays, whoever is killed."""
        return self.moment == "promotes" and self.edited_at is not None

    def left_of_episode(self):
        """What is left of what was under way at the kill: a session that lives may try something else now."""
        names = [each.name for each in self.episode]
        found = [str(each) for each in self.episode if each.exists()]
        found += [str(note) for name in names if (note := self.notes / f"{name}.json").exists()]
        return found + [told for told in processes().values() if any(name in told for name in names)]

    def nobody_puts_back(self):
        """Whether no keeper lives."""
        return not any(KEEPER in told for pid, told in processes().items() if pid not in self.before[1])

    def until_as_before(self):
        """After how many seconds, and whether that took the next Trimtab."""
        killed_s, following = time.monotonic(), None
        if "daemon" not in self.victims:
            until(lambda: not self.left_of_episode(), BACK_S)
            return time.monotonic() - killed_s, False
        until(lambda: self.nobody_puts_back() or not self.left(), BACK_S)
        if left := self.left():
            alone = "keeper" in self.victims or not self.kept or self.moment == "begins"
            assert alone or self.promoted_is_edited, left
            following = Attach(self.settings, "live", "attach", str(self.server.process.pid))
            following.wait_for_line("Live session ")
        until(lambda: not self.left(), BACK_S)
        back_s = time.monotonic() - killed_s
        if following is not None:
            end(following)
        return back_s, following is not None

    def answered(self):
        """The public ends: how many connections it has opened, and how many requests failed."""
        self.public.process.terminate()
        result = self.public.end()
        return result["sessions"]["started"], failed(result), result["failures"]

    def clear(self):
        """For the next round: the file is as it was before this one."""
        end(self.command)
        if self.public.process.poll() is None:
            self.public.process.kill()
            self.public.process.wait()
        if self.server.file.read_bytes() != self.first:
            self.write(self.first)
            self.server.process.send_signal(signal.SIGHUP)
        for each in self.beside():
            each.unlink()

    @property
    def kind(self):
        """For the table."""
        servers = [name for name in self.victims if name in BESIDE]
        others = sorted(set(self.victims) - set(servers))
        return f"{self.moment}: {', '.join(others + (['servers beside'] if servers else []))}"

    def __str__(self):
        edit = "" if self.edited_at is None else f", edited before victim {self.edited_at}"
        return f"{self.moment}: killed {', '.join(self.victims)}{edit}"


def end(command):
    """Whatever still lives of it."""
    if command.process.poll() is None:
        command.process.send_signal(signal.SIGINT)
    command.finish()
    command.process.stdout.close()


def go_through(begun, met):
    """One round; notes what it has met."""
    begun.until_moment()
    time.sleep(begun.chance.uniform(0, LONGEST_S))
    begun.kill()
    back_s, by_next = begun.until_as_before()
    if begun.command.process.poll() is None:
        begun.command.process.send_signal(signal.SIGINT)
    begun.command.process.wait()
    until(lambda: not begun.left(), BACK_S)
    connections, failures, how = begun.answered()
    assert connections > 0
    assert failures <= begun.held, how
    kind = met[begun.kind]
    kind.rounds, kind.by_next = kind.rounds + 1, kind.by_next + by_next
    kind.longest_s = max(kind.longest_s, back_s)
    kind.connections, kind.held = kind.connections + connections, kind.held + begun.held
    kind.failed += failures


@pytest.mark.timeout(120 + 60 * KILLS)
@pytest.mark.parametrize("name", ["nginx", "core"])
def test_whoever_is_killed_production_answers_everything_and_is_as_before(name, production, settings):
    """Connections fail that a killed server had accepted, and no other."""
    server = production(name)
    (server.file.parent / "www" / "verified").write_bytes(file_content("/verified", FILE_BYTES))
    chance = random.Random(f"{SEED} {name}")
    met = defaultdict(Met)
    try:
        for number in range(KILLS // 2):
            changed = {"var": settings.var / str(number)}  # what a session may risk is another's memory
            moment = MOMENTS[number % len(MOMENTS)]
            begun = Round(server, settings.model_copy(update=changed), chance, moment)
            failure = None
            try:
                go_through(begun, met)
            except AssertionError as error:
                failure = (error, begun.left())
            finally:
                begun.clear()
            if failure is not None:
                said = "".join(begun.command.lines)
                raise AssertionError(f"{name}, round {number}, {begun}: {failure}\n{said}")
    finally:
        show(name, met)


def show(name, met):
    """The table of what there was."""
    print(f"\n{name}, {RATE_RPS} connections/s")
    print("| moment: killed | rounds | by the next Trimtab | longest | connections | held | failed |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for kind in sorted(met):
        print(met[kind].row(kind))
