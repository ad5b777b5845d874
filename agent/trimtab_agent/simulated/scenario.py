"""What a simulated station is to be like, and what is to happen at it: a small JSON file.

It lies in `var/scenario.json` and is read anew before every rate. So whoever watches a run can change what
happens next: hold a trial at a rate, let it go on, have the next configuration refused.

    {"incidents": [{"what": "crashes", "where": {"workers": 4}}, {"what": "disturbed", "trials": [3]}],
     "hold": {"trial": 5, "rate": 2}}
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError
from trimtab_trials.configuration import Value
from trimtab_tuner.frozen import Frozen
from trimtab_tuner.judging.job import TrialJob

from trimtab_agent.errors import HostError

Share = Annotated[float, Field(ge=0, le=1)]
Rate = Annotated[float, Field(gt=0)]


class Incident(Frozen):
    """Something that happens to some trials: those of these numbers, whose configuration has these values.

    `rejected` the server's check refuses the configuration, `crashes` the server dies at the rate,
    `starves` the requests for the largest files are not answered, `fails` one request in ten gets an error,
    `disturbed` something else takes the CPUs, `generator-limited` the generator gives out at the rate,
    `generator-starved` something else takes the generator's CPU, `lost` the station is gone. From the `rate`
    on, which counts from 1; None: at every trial and rate.
    """

    what: Literal[
        "rejected",
        "crashes",
        "starves",
        "fails",
        "disturbed",
        "generator-limited",
        "generator-starved",
        "hangs",
        "lost",
    ]
    trials: tuple[int, ...] | None = None
    where: dict[str, Value] = Field(default_factory=dict)
    rate: Annotated[int, Field(ge=1)] = 1

    def happens_to(self, trial: int, job: TrialJob) -> bool:
        """Whether it happens to that trial."""
        return (self.trials is None or trial in self.trials) and all(
            job.configuration.get(name) == value for name, value in self.where.items()
        )


class Hold(Frozen):
    """Where a trial waits until the scenario says otherwise: before its `rate`, which counts from 1.

    None as `trial`: every one that comes there.
    """

    trial: int | None = None
    rate: Annotated[int, Field(ge=1)] = 1


class Scenario(Frozen):
    """The model's numbers and the incidents.

    `capacity_rps` is what the server can answer on one CPU when nothing stands in its way, and
    `default_share` the part of it that the default's limit of connections lets through. `effects` says by
    name what a knob's best value gains beside its default, as a share of the capacity; those of workers and
    connections follow from the model. `overload_loss` is the share of its capacity that a server loses when
    it is asked for twice as much. `noise_within` and `noise_between` are the standard deviations from rate to
    rate and from trial to trial, `drift_per_trial` what the host gets slower by. `generator_rps` is where the
    generator gives out. A rate takes `pace_s` in the time of whoever watches.
    """

    seed: Annotated[int, Field(ge=0)] = 1
    capacity_rps: Rate = 20_000.0
    default_share: Annotated[float, Field(gt=0, le=2)] = 0.45
    effects: dict[str, float] = Field(default_factory=dict)
    overload_loss: Annotated[float, Field(ge=0, le=100)] = 0.05
    noise_within: Share = 0.004
    noise_between: Share = 0.006
    drift_per_trial: Share = 0.0
    generator_rps: Rate = 400_000.0
    pace_s: Annotated[float, Field(ge=0, le=10)] = 0.0
    incidents: tuple[Incident, ...] = ()
    hold: Hold | None = None


def read_scenario(path: Path) -> Scenario:
    """The scenario in a file; the usual one where there is none. Raises HostError for one that is wrong."""
    try:
        return Scenario.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return Scenario()
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "the file"
        raise HostError(f"the scenario {path}: {field}: {first['msg']}") from error
    except OSError as error:
        raise HostError(f"the scenario {path} cannot be read: {error.strerror}") from error


def write_scenario(path: Path, scenario: Scenario) -> None:
    """Puts a scenario in the place of another, whole: whoever reads meanwhile sees one of them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}")
    beside.write_text(scenario.model_dump_json())
    beside.replace(path)
