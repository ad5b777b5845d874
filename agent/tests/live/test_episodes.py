"""Episodes beside real servers under load: whatever ends them, production answers all and is as it was."""

import dataclasses
import os
import re
import signal
import socket
import time
from pathlib import Path

import psutil
import pytest
from asking import asking
from trimtab_agent.errors import HostError
from trimtab_agent.live import arms as beside
from trimtab_agent.live import episodes, steering
from trimtab_agent.live.arms import baseline_and_canary
from trimtab_agent.live.episodes import carry_out
from trimtab_agent.live.listening import take
from trimtab_agent.live.production import production_observer
from trimtab_tuner.live.episode import Action, Rules
from trimtab_tuner.live.guards import parse_guard
from waiting import until

pytestmark = [pytest.mark.live, pytest.mark.kernel]

PERIOD_S = 0.1
# A step that shows nothing ends soon; what is worse by less than nine tenths counts as not worse.
RULES = Rules(steps=(0.2, 0.4), margin=0.9, least_pairs=3, most_periods=12)
# What is watched for: it has no end of its own within the test.
ENDLESS = Rules(steps=(0.4,), margin=0.9, least_pairs=100_000, most_periods=100_000)
BACK_S = 5.0
SERVERS = pytest.mark.parametrize("name", ["nginx", "core"])


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Half a second of settling in place of two."""
    monkeypatch.setattr(episodes, "SETTLE_PERIODS", 2)
    monkeypatch.setattr(episodes, "LINGER_PERIODS", 6)


@pytest.fixture
def arms_of(monkeypatch):
    """The arms that an episode has started, for faults to be put in."""
    started = []

    def start(*arguments):
        started.append(baseline_and_canary(*arguments))
        return started[-1]

    monkeypatch.setattr(episodes, "baseline_and_canary", start)
    return started


class Beginning:
    """An episode beside a server; its faults come at a period, counted from the first share on."""

    def __init__(self, server, arms, notes):
        self.server, self.notes, self.arms = server, notes, arms
        self.faults = {}
        self.told = []
        self.seen = server.seen
        self.ticks = 0

    def carry_out(self, rules=ENDLESS, guards=(), paths=()):
        """To its end."""
        observer, _ = production_observer(self.seen, 1.0)

        def tick():
            time.sleep(PERIOD_S)
            if self.ticks == episodes.SETTLE_PERIODS - 1:
                until(self.arms_serve)
            if fault := self.faults.pop(self.ticks - episodes.SETTLE_PERIODS, None):
                fault()
            self.ticks += 1
            return observer.read()

        with observer:
            return carry_out(
                server=self.seen,
                base=self.server.base,
                candidate={**self.seen.target.space().default(), "sendfile": "off"},
                knobs=["sendfile"],
                notes=self.notes,
                rules=rules,
                guards=[parse_guard(guard) for guard in guards],
                slow_s=1.0,
                cpus=1,
                paths=paths,
                tick=tick,
                tell=self.told.append,
            )

    def arms_serve(self):
        """Whether the arms have come so far as to have workers; a slow machine takes its time."""
        arms = self.arms[-1]
        told = [Path(arm.place.stats_socket) for arm in arms.files if self.seen.target.name == "core"]
        return all(psutil.Process(pid).children() for pid in arms.pids) and all(
            each.exists() for each in told
        )

    def require_as_before(self):
        """Production alone listens, without the option; nothing is noted."""
        with take(self.seen.pid, self.seen.listeners[0].descriptor) as taken:
            option = taken.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT)
        lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        listening = sum(line[3] == "0A" and line[1].endswith(f":{self.server.port:04X}") for line in lines)
        notes = list(self.notes.glob("*"))
        assert (listening, option, notes, steering.MIGRATE.read_text()) == (1, 0, [], self.migrate)


@pytest.fixture
def begin(production, arms_of, tmp_path):
    """An episode that can be carried out beside a server of that kind."""

    def prepared(name):
        beginning = Beginning(production(name), arms_of, tmp_path / "notes")
        beginning.migrate = steering.MIGRATE.read_text()
        return beginning

    return prepared


def kill(pids, number=signal.SIGKILL):
    """A signal for these processes and all that they have started."""
    everybody = [psutil.Process(pid) for pid in pids]
    for each in [*everybody, *(child for one in everybody for child in one.children(recursive=True))]:
        os.kill(each.pid, number)


def test_arms_are_asked_for_the_pages_of_production_before_anybody_else_asks_them(begin, monkeypatch):
    """With no share of the connections yet, and so that production notices nothing."""
    monkeypatch.setattr(episodes, "SETTLE_PERIODS", 6)
    episode = begin("nginx")
    log = episode.server.file.parent / "access.log"
    logged = []

    def at_first_share():
        arms = episode.arms[-1]
        logged.extend(Path(arm.place.access_log).stat().st_size for arm in arms.files)
        kill([arms.pids[1]])

    episode.faults[1] = at_first_share
    end = episode.carry_out(RULES, paths=["/page", "/"])
    assert min(logged) > 0
    assert (log.read_text(), end.evidence["warmed"]) == ("", 2)


def test_canary_that_does_not_answer_is_rolled_back_before_it_has_any_connection(begin, monkeypatch):
    """Nobody has met it."""
    episode = begin("nginx")

    def hung(*arguments):
        arms = baseline_and_canary(*arguments)
        episode.arms.append(arms)
        until(episode.arms_serve)
        kill([arms.pids[1]], signal.SIGSTOP)
        return arms

    monkeypatch.setattr(episodes, "baseline_and_canary", hung)
    with asking(episode.server.port, episode.server.page) as asked:
        end = episode.carry_out(RULES)
    assert end.decision.action is Action.ROLL_BACK
    assert re.match("the canary does not answer .* before it has had any traffic", end.decision.reason)
    assert (end.met_harm, asked.failures) == (0, [])
    episode.require_as_before()


@SERVERS
@pytest.mark.parametrize("arm", [0, 1])
def test_arm_that_dies_before_it_has_any_connection_rolls_back(name, arm, begin, arms_of):
    """It is not production that cannot be observed any more."""
    episode = begin(name)
    episode.faults[-1] = lambda: kill([arms_of[0].pids[arm]])
    with asking(episode.server.port, episode.server.page) as asked:
        end = episode.carry_out()
        episode.require_as_before()
    assert end.decision.action is Action.ROLL_BACK
    assert (end.met_harm, asked.failures) == (0, [])


def test_memory_that_becomes_full_ends_the_episode(begin, monkeypatch):
    """It says nothing about the candidate."""
    episode = begin("core")
    episode.faults[3] = lambda: monkeypatch.setattr(beside, "LEAST_FREE_BYTES", 1 << 60)
    with asking(episode.server.port, episode.server.page) as asked:
        with pytest.raises(HostError, match="is about to be full"):
            episode.carry_out()
        episode.require_as_before()
    assert asked.failures == []


def test_arm_whose_log_is_taken_away_ends_the_episode(begin, arms_of):
    """Nothing is known of it any more."""
    episode = begin("nginx")
    episode.faults[3] = lambda: Path(arms_of[0].files[1].place.access_log).unlink()
    with asking(episode.server.port, episode.server.page) as asked:
        end = episode.carry_out()
        episode.require_as_before()
    assert end.decision.action is Action.ROLL_BACK
    assert "the access log " in end.decision.reason
    assert asked.failures == []


def test_connection_to_an_arm_is_kept_for_a_while_when_the_episode_has_ended_well(begin):
    """And none of the new ones goes there."""
    episode = begin("core")
    held = []

    def hold():
        for _ in range(20):
            connection = socket.create_connection(("127.0.0.1", episode.server.port))
            connection.sendall(b"GET /page HTTP/1.1\r\nHost: x\r\n\r\n")
            assert connection.recv(4)
            held.append(connection)

    episode.faults[2] = hold
    with asking(episode.server.port, episode.server.page) as asked:
        end = episode.carry_out(RULES)
    assert end.decision.action is Action.GIVE_UP
    lingered = episode.ticks - episodes.SETTLE_PERIODS - end.evidence["periods"]
    assert lingered == episodes.LINGER_PERIODS
    for connection in held:
        connection.close()
    assert asked.failures == []


def test_candidate_like_the_baseline_ends_without_harm(begin):
    """Every period is told, and nobody notices anything."""
    episode = begin("core")
    with asking(episode.server.port, episode.server.page) as asked:
        end = episode.carry_out(RULES)
        episode.require_as_before()
    assert end.decision.action is Action.GIVE_UP, end
    assert "not enough evidence" in end.decision.reason
    assert (end.met_harm, end.evidence["periods"]) == (0, len(episode.told))
    assert end.evidence["canary"]["requests"] > 0
    assert end.evidence["baseline"]["errors"] == 0
    assert "complaints" not in end.evidence
    assert (asked.failures, asked.answered > 50) == ([], True)


@pytest.mark.parametrize(("name", "arm"), [("core", 0), ("nginx", 1), ("core", 1)])
def test_arm_that_dies_rolls_back_and_production_answers_everything(name, arm, begin, arms_of):
    """But what the killed arm had accepted."""
    episode = begin(name)
    killed_s = []

    def die():
        kill([arms_of[0].pids[arm]])
        killed_s.append(time.monotonic())

    episode.faults[4] = die
    with asking(episode.server.port, episode.server.page) as asked:
        end = episode.carry_out()
        assert time.monotonic() - killed_s[0] < BACK_S
        episode.require_as_before()
        answered = asked.answered
        until(lambda: asked.answered > answered + 20)
    assert end.decision.action is Action.ROLL_BACK
    assert "has ended" in end.decision.reason
    assert [failure for failure in asked.failures if failure.began_s > killed_s[0]] == []
    assert len(asked.failures) <= 2


def test_arm_that_tells_nothing_ends_the_episode_and_leaves_nothing_open(begin, monkeypatch):
    """Nor what its neighbour tells."""
    episode, observer = begin("nginx"), episodes.observer_of

    def of_the_first(server, pid, files, slow_s):
        if "canary" in files.place.directory:
            raise HostError("it tells nothing")
        return observer(server, pid, files, slow_s)

    monkeypatch.setattr(episodes, "observer_of", of_the_first)
    open_before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - descriptors, not files
    with pytest.raises(HostError, match="it tells nothing"):
        episode.carry_out()
    episode.require_as_before()
    assert len(os.listdir("/proc/self/fd")) == open_before  # noqa: PTH208


def test_guard_that_does_not_hold_rolls_back_at_once(begin):
    """With its sentence, and before the canary is judged otherwise."""
    episode = begin("core")
    with asking(episode.server.port, episode.server.page) as asked:
        end = episode.carry_out(guards=["p50 <= 1us"])
        episode.require_as_before()
    assert end.decision.action is Action.ROLL_BACK
    assert "a guard does not hold: p50 = " in end.decision.reason
    assert episode.told[-1].decision == end.decision
    assert end.met_harm > 0
    assert asked.failures == []


@SERVERS
def test_canary_that_hangs_is_rolled_back_and_what_waits_for_it_is_answered(name, begin, arms_of):
    """Those whose connections it has accepted have lost them, and nobody else."""
    episode = begin(name)
    stopped_s = []

    def stop():
        kill([child.pid for child in psutil.Process(arms_of[0].pids[1]).children()], signal.SIGSTOP)
        stopped_s.append(time.monotonic())

    episode.faults[2] = stop
    with asking(episode.server.port, episode.server.page) as asked:
        end = episode.carry_out()
        episode.require_as_before()
        assert time.monotonic() - stopped_s[0] < 2 * BACK_S
        answered = asked.answered
        until(lambda: asked.answered > answered + 20)
    assert end.decision.action is Action.ROLL_BACK, end
    assert re.search("none was answered|fewer of its connections", end.decision.reason)
    assert [failure for failure in asked.failures if failure.began_s > stopped_s[0] + BACK_S] == []
    assert len(asked.failures) <= 2


def test_canary_that_fails_requests_is_rolled_back_by_its_errors(begin):
    """Nobody but the canary fails any."""
    episode = begin("nginx")
    real, beside = episode.seen.target, episode.seen.target.beside

    def file(text, place):
        made = beside.file(text, place)
        failing = "location / { } location = /page { return 503; } root "  # the first page is as ever
        return made.replace("root ", failing, 1) if "sendfile off" in text else made

    # Whoever asks the target gets it as it is, but for this.
    target = type("Failing", (), {"__getattr__": lambda _, name: getattr(real, name)})()
    target.beside = dataclasses.replace(beside, file=file)
    episode.seen = dataclasses.replace(episode.seen, target=target)
    with asking(episode.server.port, episode.server.page) as asked:
        end = episode.carry_out()
        episode.require_as_before()
        failures, answered = len(asked.failures), asked.answered
        until(lambda: asked.answered > answered + 20)
    assert end.decision.action is Action.ROLL_BACK, end
    assert end.decision.reason.startswith("more errors than ")
    assert {failure.how for failure in asked.failures} == {"HTTP/1.1 503 Service Temporarily Unavailable"}
    assert len(asked.failures) == failures
    assert 0 < failures <= end.met_harm + 5
    assert end.evidence["baseline"]["errors"] == 0


class Left(Exception):
    """The session wants to end."""


@pytest.mark.parametrize(("name", "at"), [("nginx", -1), ("core", 3)])
def test_tick_that_raises_puts_everything_back_before_it_is_told(name, at, begin):
    """While the arms settle, and while the canary is judged."""
    episode = begin(name)

    def leave():
        raise Left

    episode.faults[at] = leave
    with asking(episode.server.port, episode.server.page) as asked:
        with pytest.raises(Left):
            episode.carry_out()
        episode.require_as_before()
        answered = asked.answered
        until(lambda: asked.answered > answered + 20)
    assert asked.failures == []
