"""What a run found, as the runner records it in `run.outcome` and as the API and the command line show it."""

from pydantic import BaseModel, ConfigDict
from trimtab_tuner.records import Configuration
from trimtab_tuner.statistics import Gain


class RankedConfiguration(BaseModel):
    """A finalist after the confirmation.

    `rank` is shared by those that cannot be told apart, None without enough verified repeats to tell.
    `scores_mbps` has one entry per block, None where the trial was not verified; `gain` is over the default
    configuration, None for the default itself or without repeats.
    """

    model_config = ConfigDict(frozen=True)

    rank: int | None
    is_default: bool
    configuration: Configuration
    configuration_hash: str
    scores_mbps: tuple[float | None, ...]
    mean_score_mbps: float | None
    gain: Gain | None


class Outcome(BaseModel):
    """The outcome of a run: a sentence for the user and the figures behind it.

    `best` is the configuration to use (the default, when nothing was shown to be better), None when no
    trial was verified. `confirmed` says whether the confirmation was carried out; if not, `best` is only the
    best of the search so far. `gain` is that of the best finalist over the default, None when the
    confirmation was not reached. `verdicts` counts the run's trials by verdict.
    """

    model_config = ConfigDict(frozen=True)

    sentence: str
    confirmed: bool
    default: Configuration
    best: Configuration | None
    gain: Gain | None
    ranking: tuple[RankedConfiguration, ...]
    verdicts: dict[str, int]
