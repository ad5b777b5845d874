"""What a run found, as the study records it in `run.outcome` and as the API and the command line show it."""

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, computed_field
from trimtab_trials.configuration import Configuration
from trimtab_trials.trial import Trial
from trimtab_tuner.certainty.confirmation import describe
from trimtab_tuner.certainty.factorial import Factorial
from trimtab_tuner.certainty.pareto import Place
from trimtab_tuner.certainty.setting_effects import SettingEffect
from trimtab_tuner.certainty.stability import Kind
from trimtab_tuner.certainty.standing import standings
from trimtab_tuner.certainty.statistics import Gain
from trimtab_tuner.fleet.across_hosts import AcrossHosts
from trimtab_tuner.judging.second_objective import Axis
from trimtab_tuner.telling.people import DEFAULT, Compared, gain_in_words, in_words
from trimtab_tuner.telling.performance import Performance
from trimtab_tuner.telling.two_files import Loss
from trimtab_tuner.wording import counted, in_unit

OLD_FILE = "the old file"
PASSED_OVER = (
    "Rank and gain are two tests: ranks compare all finalists with one estimate of the noise, while what is "
    "recommended in place of the default needs a significant gain by its own differences to it within the "
    "blocks, so a better rank alone is not enough."
)


class Found(BaseModel):
    """Base of what a run has found: immutable; in the API's document every field is always there."""

    model_config = ConfigDict(frozen=True, json_schema_serialization_defaults_required=True)


class RankedConfiguration(Found):
    """A finalist after the confirmation.

    `rank` is shared by those that cannot be told apart, None without enough verified repeats to tell.
    `scores_mbps` has one entry per block, None where the trial was not verified; `gain` is over the default
    configuration, None for the default itself or without repeats. `stability` is that of the neighbourhood
    which the search has measured. `is_expert` marks the target's documented advice. `performance` is what it
    does in people's terms, None where no block is whole.
    """

    rank: int | None
    is_default: bool
    configuration: Configuration
    configuration_hash: str
    scores_mbps: tuple[float | None, ...]
    mean_score_mbps: float | None
    gain: Gain | None
    stability: Kind = "unknown"
    is_expert: bool = False
    performance: Performance | None = None

    @property
    def gain_told(self) -> str:
        """Its gain over the default, as it is told of what is recommended; empty where there is none."""
        own = Performance() if self.performance is None else self.performance
        return gain_in_words(own.capacity_gain, at_least=own.at_least, score=self.gain)


class FrontMember(Found):
    """A configuration that no other beats in both objectives.

    `score_mbps` is under the first objective and `second_score` under the second, in the unit of its axis:
    means over the confirmation where it was `confirmed`, else over the search. `place` says where it lies on
    the front; a front of one has `best-first` only.
    """

    configuration: Configuration
    configuration_hash: str
    score_mbps: float
    second_score: float
    confirmed: bool
    place: Place
    is_default: bool
    is_best: bool


PLACES: dict[Place, str] = {
    "best-first": "most {first}",
    "best-second": "{most} {second}",
    "knee": "the knee: beyond it a little more of the one costs much of the other",
    "between": "between an end and the knee",
}


class Front(Found):
    """The front of a run with two objectives, best first objective first.

    `is_best` of a member marks the configuration that the outcome recommends; that one may lie beside it.
    """

    first: Axis
    second: Axis
    members: tuple[FrontMember, ...]

    def place_of(self, member: FrontMember) -> str:
        """Where a member lies on the front, in words."""
        most = "least" if self.second.minimised else "most"
        return PLACES[member.place].format(
            first=self.first.objective, second=self.second.objective, most=most
        )

    def sentence_on(self, digest: str) -> str:
        """Which one of the front the configuration of that hash is."""
        pair = f"{self.first.objective} and {self.second.objective}"
        member = next((m for m in self.members if m.configuration_hash == digest), None)
        if member is None:
            return f"It lies beside the front of {pair}: another configuration is better in both."
        return (
            f"Of the {counted(len(self.members), 'configuration')} that no other beats in both {pair}, it is "
            f"{self.place_of(member)} ({in_unit(member.score_mbps, self.first.unit)}, "
            f"{in_unit(member.second_score, self.second.unit)})."
        )


class Remeasured(Found):
    """What the exported file itself scored, when the server ran with its text.

    `agrees` says whether the score lies where one more trial of the confirmed configuration is expected
    (`low_mbps` to `high_mbps`, 95 %); None when that cannot be told. `trial` is None when the file was not
    driven, `text_sha256` that of the text that was. Where that is not the exported one itself, because this
    has a limit on connections for pauses as they are, `export_sha256` is that of the exported one.
    """

    sentence: str
    agrees: bool | None
    trial: int | None = None
    score_mbps: float | None = None
    low_mbps: float | None = None
    high_mbps: float | None = None
    text_sha256: str
    export_sha256: str | None = None


class ComparedFiles(Found):
    """Which two files were measured against each other, by their paths, and what the new one loses."""

    old: str
    new: str
    loss: Loss


class HostOfRun(Found):
    """One host of a run on several: its level (what the default does there beside the mean host, as a ratio)
    and the gain of what is recommended there, None where that was not measured.
    """

    name: str
    stratum: int
    searched: bool
    level: float | None
    gain: float | None
    unlike: bool = False


class OverHosts(Found):
    """What a run on several hosts says of them.

    `classes` are the classes of hosts in words, by their numbers. `across` is what is recommended over the
    hosts of the confirmation; None where that is the default, or nothing was confirmed. `interaction` is how
    much hosts differ over a usual configuration, a standard deviation as a share of its score.
    """

    sentence: str
    hosts: tuple[HostOfRun, ...]
    classes: dict[int, str]
    confirmed_on: tuple[str, ...]
    unseen: bool
    across: AcrossHosts | None
    interaction: float


class Outcome(Found):
    """The outcome of a run: a sentence for the user and the figures behind it.

    `best` is the configuration to use (the default, when nothing was shown to be better), None when no
    trial was verified. `confirmed` says whether the confirmation was carried out; if not, `best` is only the
    best of the search so far. `gain` is that of the best finalist over the default, None when the
    confirmation was not reached. `verdicts` counts the run's trials by verdict. `front` is None for a run
    with one objective. `remeasured` is what the exported file scored, None when the run has not come to that.
    `capacity` is what one climb of the default has found, where that was all that was asked for. `files` is
    there where two files were compared: then the old one is the default. `factorial` is there where the
    search's best changes both the server and the kernel. `over_hosts` is there of a run on several hosts.
    `effects` has each setting of the search's best, those that `best` keeps first; none where it is the
    default, or was not confirmed.
    `written` is what the exported files say, which is `best` but for a limit on connections that is enough
    (`connections` tells) for pauses as they are, and the number of workers for all CPUs (`workers` tells);
    None where nothing was exported.
    """

    sentence: str
    confirmed: bool
    default: Configuration
    best: Configuration | None
    gain: Gain | None
    ranking: tuple[RankedConfiguration, ...]
    verdicts: dict[str, int]
    front: Front | None = None
    remeasured: Remeasured | None = None
    capacity: Performance | None = None
    files: ComparedFiles | None = None
    factorial: Factorial | None = None
    over_hosts: OverHosts | None = None
    effects: tuple[SettingEffect, ...] = ()
    written: Configuration | None = None
    workers: str = ""
    connections: str = ""

    @property
    def recommended(self) -> RankedConfiguration | None:
        """The finalist that is to be used; None where that is no finalist."""
        return next((one for one in self.ranking if one.configuration == self.best), None)

    @computed_field  # type: ignore[prop-decorator] # mypy knows no decorated properties
    @property
    def capacity_gain(self) -> Gain | None:
        """How much more load `best` takes than the default: the gain, wherever one is told.

        `gain` is that in score, which the search climbs. None where the default is kept, or it is not known.
        """
        own = self.recommended
        return (
            None
            if own is None or own.is_default or own.performance is None
            else own.performance.capacity_gain
        )

    @computed_field  # type: ignore[prop-decorator]
    @property
    def capacity_at_least(self) -> bool:
        """Whether that gain may be more, as the load generator could offer no more."""
        own = self.recommended
        return own is not None and own.performance is not None and own.performance.at_least

    @computed_field  # type: ignore[prop-decorator]
    @property
    def beyond_figures(self) -> str:
        """The sentence without what it begins with: the figures of `recommended` and of the default, or those
        of the one configuration that was measured.
        """
        if self.capacity is not None:
            figures = alone(self.capacity)
        else:
            figures = headline(self.ranking, self.default, self.best)
        return self.sentence.removeprefix(figures).lstrip()

    @property
    def without_answer(self) -> str:
        """Why there is nothing to use, in words; empty where there is."""
        if self.best is None:
            return self.sentence
        return self.sentence if self.capacity is not None and self.capacity.capacity_rps is None else ""

    @property
    def judged_trials(self) -> int:
        """How many trials there were after the calibration, until the outcome was known.

        A list counts all that are recorded, with the calibration and what was driven once more at the end.
        """
        return sum(self.verdicts.values())

    @property
    def keeps_default(self) -> bool:
        """Whether nothing was shown to be better than the default."""
        return self.confirmed and self.best == self.default

    @property
    def gain_told(self) -> str:
        """The gain over the default, as lists, reports and files tell it; empty where there is none."""
        if self.keeps_default:
            return ""
        return gain_in_words(self.capacity_gain, at_least=self.capacity_at_least, score=self.gain)

    @property
    def default_called(self) -> str:
        """What the default is called, as gains are over it."""
        return DEFAULT if self.files is None else OLD_FILE

    @computed_field  # type: ignore[prop-decorator] # mypy knows no decorated properties
    @property
    def remark_on_ranks(self) -> str:
        """Why something with a better rank than `best` is not recommended; empty where nothing has one."""
        own = None if self.recommended is None else self.recommended.rank
        first = min((one.rank for one in self.ranking if one.rank is not None), default=None)
        return PASSED_OVER if own is not None and first is not None and first < own else ""


def alone(capacity: Performance) -> str:
    """What the configuration of a run without a search does; empty where it follows no rate driven."""
    return in_words("The configuration", capacity)


def headline(
    ranking: Iterable[RankedConfiguration], default: Configuration, recommended: Configuration | None
) -> str:
    """What the recommended configuration does beside the default; empty where that is not known."""
    known = [one for one in ranking if one.performance is not None]
    own = next((one.performance for one in known if one.configuration == recommended), None)
    if own is None or recommended is None:
        return ""
    if recommended == default:
        return in_words("The default", own)
    of_default = next((one.performance for one in known if one.is_default), None)
    return in_words(describe(recommended, default), own, of_default)


def compared(outcome: Outcome | None) -> list[Compared]:
    """What the finalists do in people's terms, the recommended one first and the default next."""
    if outcome is None:
        return []
    first = outcome.default if outcome.files else outcome.best
    ordered = sorted(outcome.ranking, key=lambda one: (one.configuration != first, not one.is_default))
    return [
        Compared(
            _name(one, outcome)
            + " *" * (outcome.files is None and one.configuration == outcome.best)
            + " (expert advice)" * one.is_expert,
            one.performance,
            one.mean_score_mbps,
        )
        for one in ordered
        if one.performance is not None
    ]


def _name(one: RankedConfiguration, outcome: Outcome) -> str:
    if outcome.files is None:
        return describe(one.configuration, outcome.default)
    return OLD_FILE if one.is_default else "the new file"


def best_known(outcome: Outcome | None, trials: Iterable[Trial]) -> Configuration | None:
    """The best of a run: what it recommends; before its end, the configuration with the highest mean score of
    its trials in the search.
    """
    if outcome is not None and outcome.best is not None:
        return outcome.best
    scored = [one for one in standings(trials).values() if one.search_score is not None]
    return max(scored, key=lambda one: one.search_score or 0.0).configuration if scored else None


def best_score(outcome: Outcome | None, of_search: float | None) -> float | None:
    """The score of a run's best: the mean of its blocks in the confirmation; before that, the highest mean
    score that a configuration has in the search (`of_search`).
    """
    own = None if outcome is None else outcome.recommended
    return of_search if own is None or own.mean_score_mbps is None else own.mean_score_mbps
