"""How clients behave: whether they wait for the server, when they come, what they ask and how fast they read.

LOOP. `open`: sessions arrive at their rate whatever the server does, and a run measures a ladder of rates.
`closed`: so many connections, each of which asks again as soon as it has its reply, without pauses; a run
measures the numbers of `connections` in place of rates. A closed loop finds throughput, and never overload.

ARRIVALS, in an open loop: `deterministic` at equal distances, `poisson` independent of each other.

SHARES. Of the requests that ask only for what has changed (`conditional_share`), and of the sessions whose
clients read slowly (`slow_share`), as docs/internals/load-generator.md defines them.
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator
from trimtab_trials.measurement import Measurement

from trimtab_tuner.frozen import Frozen

Share = Annotated[float, Field(ge=0, le=1)]
Loop = Literal["open", "closed"]


def follows(measurement: Measurement, loop: Loop) -> bool:
    """Whether the replies followed what was offered.

    A closed loop offers no more than is answered: there every number of connections counts as followed.
    """
    return loop == "closed" or measurement.followed


class Clients(Frozen):
    """The `[clients]` table of a definition."""

    loop: Loop = "open"
    connections: Annotated[tuple[Annotated[int, Field(ge=1, le=50_000)], ...], Field(max_length=64)] = ()
    arrivals: Literal["deterministic", "poisson"] = "deterministic"
    conditional_share: Share = 0.0
    slow_share: Share = 0.0

    @model_validator(mode="after")
    def _consistent(self) -> "Clients":
        if self.loop == "open" and self.connections:
            raise ValueError("connections: expected none in an open loop, whose rates the run finds")
        if self.loop == "closed" and len(self.connections) < 2:
            raise ValueError("connections: expected two numbers or more for a closed loop")
        if list(self.connections) != sorted(set(self.connections)):
            raise ValueError(f"connections = {list(self.connections)}: expected ascending numbers")
        if self.loop == "closed" and self.arrivals != "deterministic":
            raise ValueError("arrivals: nobody arrives in a closed loop; expected it to be left out")
        return self

    @property
    def level_unit(self) -> str:
        """What the rungs of the ladder count: rates, or numbers of connections."""
        return "connections" if self.loop == "closed" else "requests/s"

    def level(self, *numbers: float) -> str:
        """A rung of the ladder in words, or all of them."""
        unit = "connection" if self.loop == "closed" and numbers == (1,) else self.level_unit
        return f"{', '.join(f'{number:,.0f}' for number in numbers)} {unit}"
