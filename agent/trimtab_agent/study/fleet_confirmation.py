"""The confirmation of a run on several hosts: blocks on each of them, on hosts that the search did not use
where there are enough; and what they say together. The best is confirmed with what is worth something of its
settings (`fleet_elimination.py`).
"""

from collections.abc import Sequence
from contextlib import suppress
from statistics import fmean
from typing import Any

from trimtab_db import records
from trimtab_db.records import RunPhase
from trimtab_trials.configuration import Configuration
from trimtab_trials.trial import Trial, TrialPurpose
from trimtab_tuner.certainty.blocks import FEWEST_BLOCKS
from trimtab_tuner.certainty.confirmation import choose_finalists
from trimtab_tuner.fleet.across_hosts import AcrossHosts, across_hosts
from trimtab_tuner.fleet.classes import HostClass
from trimtab_tuner.fleet.host_blocks import HostBlocks, rounds_for
from trimtab_tuner.presets import RunSettings
from trimtab_tuner.space import Space
from trimtab_tuner.wording import counted, in_change, in_percent

from trimtab_agent.errors import FleetError
from trimtab_agent.results.outcome import HostOfRun, Outcome, OverHosts
from trimtab_agent.study.conclusion import confirmed_outcome
from trimtab_agent.study.dispatcher import Dispatcher, TrialLost
from trimtab_agent.study.fleet_elimination import FleetElimination
from trimtab_agent.study.fleet_history import FleetHistory
from trimtab_agent.study.orders import Order
from trimtab_agent.study.progress import RunProgress
from trimtab_agent.study.rungs import ladder_of_host


class FleetConfirmation:
    """The confirmation of one run whose search is over and recommends `best`; `fleet` is recorded with it."""

    def __init__(
        self,
        run: records.Run,
        settings: RunSettings,
        space: Space,
        history: FleetHistory,
        best: Trial | None,
        fleet: dict[str, Any],
    ) -> None:
        self._run = run
        self._settings = settings
        self._history = history
        self._elimination = FleetElimination(run, settings, space, history, best)
        self._best = self._elimination.recommended()
        self._fleet = fleet
        self._hosts = history.confirming_hosts
        self._lost: set[str] = set()
        self._finalists = choose_finalists(
            history.results(), self._best, space.default(), settings.runners_up
        )
        repeats = 0 if best is not None and best.score == 0 else settings.confirmation_repeats
        self._rounds = rounds_for(repeats, len(self._hosts))

    def carry_out(self, ladder: Sequence[float], dispatcher: Dispatcher, progress: RunProgress) -> Outcome:
        """Has measured what is missing, on all hosts at once, on each at its part of the run's `ladder`;
        raises what the dispatcher raises.
        """
        del ladder
        while True:
            idle = dispatcher.idle_stations
            self._lost = set(self._hosts) - set(dispatcher.stations)
            if len(self._lost) == len(self._hosts):
                raise FleetError("every host of the confirmation is lost; resume the run when some are back")
            blocks = self._blocks()
            progress.expect(RunPhase.CONFIRMING, blocks.trials_left)
            for host in idle:
                if (slot := blocks.next_on(host)) is not None:
                    dispatcher.start(self._order(dispatcher, host, *slot))
            if not dispatcher.in_flight:
                return self._outcome(blocks)
            # A host that is lost is left out from now on, and named; what it has measured does not count.
            with suppress(TrialLost):
                dispatcher.wait()

    def so_far(self) -> Outcome | None:
        """What the blocks measured so far say; None while they are too few for an interval."""
        blocks = self._blocks()
        if blocks.next_slot is not None and len(blocks.whole) < FEWEST_BLOCKS:
            return None
        outcome = self._outcome(blocks)
        if blocks.next_slot is None:
            return outcome
        sentence = (
            f"The run ended after {len(blocks.whole)} of the {counted(blocks.wanted, 'block')} of its "
            f"confirmation, which say so far: {outcome.sentence} Not confirmed."
        )
        return outcome.model_copy(update={"confirmed": False, "sentence": sentence})

    def _order(
        self,
        dispatcher: Dispatcher,
        host: str,
        block: int,
        configuration: Configuration,
    ) -> Order:
        return dispatcher.orders.trial(
            TrialPurpose.CONFIRMATION,
            configuration,
            ladder_of_host(self._run, self._settings, self._history, host),
            block=block,
            station=host,
            **dispatcher.orders.to_capacity(),
        )

    def _blocks(self) -> HostBlocks:
        history = self._history
        return HostBlocks(
            self._finalists,
            self._rounds,
            self._hosts,
            self._run.seed,
            history.trials,
            history.host_of_each(),
            self._lost,
        )

    def _outcome(self, blocks: HostBlocks) -> Outcome:
        outcome = confirmed_outcome(self._run, self._finalists, self._history, blocks, self._best)
        over_hosts = self._over_hosts(outcome, blocks)
        sentence = f"{outcome.sentence} {over_hosts.sentence}".strip()
        return self._elimination.with_effects(
            outcome.model_copy(update={"over_hosts": over_hosts, "sentence": sentence})
        )

    def _over_hosts(self, outcome: Outcome, blocks: HostBlocks) -> OverHosts:
        history, default = self._history, self._finalists[0] if self._finalists else outcome.default
        across = None
        if outcome.best is not None and outcome.best != default:
            logs = blocks.log_ratios(outcome.best, history.trials)
            across = across_hosts(logs, history.strata)
        effects = history.allocation(history.searched_hosts).effects
        levels = effects.levels()
        mean = fmean(levels.values()) if levels else 1.0
        gains = {} if across is None else {each.host: each for each in across.hosts}
        hosts = tuple(
            HostOfRun(
                name=name,
                stratum=history.strata[name],
                searched=name in history.searched_hosts,
                level=levels[name] / mean if name in levels else None,
                gain=gains[name].gain if name in gains else None,
                unlike=name in gains and gains[name].unlike,
            )
            for name in history.hosts
        )
        confirmed_on = tuple(name for name in self._hosts if name not in self._lost)
        unseen = not set(confirmed_on) & set(history.searched_hosts)
        told = (
            "" if across is None else sentence_of(across, unseen=unseen),
            lost_sentence([name for name in self._hosts if name in self._lost]),
        )
        return OverHosts(
            sentence=" ".join(filter(None, told)),
            hosts=hosts,
            classes={
                host["stratum"]: HostClass.model_validate(host["class"]).sentence
                for host in self._fleet["hosts"].values()
            },
            confirmed_on=confirmed_on,
            unseen=unseen,
            across=across,
            interaction=effects.usual_instability,
        )


def lost_sentence(hosts: Sequence[str]) -> str:
    """Which hosts a confirmation had to do without; empty if none."""
    if not hosts:
        return ""
    were = "was lost and is" if len(hosts) == 1 else "were lost and are"
    return f"{', '.join(hosts)} {were} not part of the confirmation."


def sentence_of(across: AcrossHosts, *, unseen: bool) -> str:
    """What the hosts of a confirmation say together, in words."""
    where = "that the search had not used" if unseen else "of the search"
    hosts = counted(len(across.hosts), "host")
    if across.says_nothing:
        told = [f"On {hosts} {where} the gain in the mean is unknown, as they differ too much"]
    else:
        told = [f"On {hosts} {where} the gain was {in_change(across.gain)} in the mean"]
    if (
        not across.says_nothing
        and across.low is not None
        and across.high is not None
        and across.spread is not None
    ):
        between = f"{in_change(across.low)} to {in_change(across.high)}"
        told[0] += f" ({between}); it differs from host to host by {in_percent(across.spread.share, 1)}"
    if across.expected_low is not None and across.expected_high is not None:
        told.append(
            f"On a new host of the same kind expect {in_change(across.expected_low)} to "
            f"{in_change(across.expected_high)}"
        )
    elif across.spread is None:
        told.append("They are too few to say what to expect on another one")
    else:
        told.append("They differ too much to say what to expect on another one")
    if across.by_stratum:
        classes = (f"{in_change(gain)} in class {number}" for number, gain in across.by_stratum.items())
        told.append(f"By class of hosts it was {', '.join(classes)}")
    if across.unlike:
        told.append(
            f"Unlike the others {'behaves' if len(across.unlike) == 1 else 'behave'}: "
            f"{', '.join(across.unlike)}"
        )
    return ". ".join(told) + "."
