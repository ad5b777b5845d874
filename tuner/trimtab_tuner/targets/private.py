"""A private instance: the user's own file, run beside the server that has it in production.

Only that is replaced by which the two would meet. Each replacement has a sentence; together they stand as a
comment at the beginning of the file that is measured, so that nothing is left out without a word.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from trimtab_trials.configuration import Configuration

from trimtab_tuner.targets.base import RenderContext, RenderError
from trimtab_tuner.targets.editing import apply

LOOPBACK = "127.77"  # all of 127.0.0.0/8 is the machine's own; replicas have the first of them
_MOST = 250
_HEAD = "Your file as Trimtab measures it. What differs:"
_END = "Nothing else differs."
NO_USER = "is left out: the instance runs as one user, without privileges"
OWN_LOG = "goes into the log of the trial"
ITS_OWN = "is the instance's own"
NO_ADDRESS = "is left out: nothing is asked from an address of production"
OTHERS_ASKED = "is left out: it would have others asked"
NO_LOG = "/dev/null"
"""Where a log goes that is switched off: there it stays, so that no more is written than in production."""


class Change(NamedTuple):
    """Text from one place to another, what replaces it, and what it was; "" for what comes with another."""

    start: int
    end: int
    replacement: str
    what: str


@dataclass
class Places:
    """Where a private instance listens and writes, each place of the user's by one of its own."""

    context: RenderContext
    _addresses: list[str] = field(default_factory=list)
    _files: dict[tuple[str, str], str] = field(default_factory=dict)

    def address(self, production: str) -> str:
        """A loopback address for that of a site, the same for the same; raises RenderError if out of them.

        Its port is the workload's: whoever had it on every address would have it on the workload's too.
        """
        if production not in self._addresses:
            self._addresses.append(production)
        number = self._addresses.index(production) + 1
        if number > _MOST:
            raise RenderError(f"listen {production}: expected at most {_MOST} addresses")
        return f"{LOOPBACK}.0.{number}:{self.context.listen[0].rpartition(':')[2]}"

    def file(self, production: str, kind: str, ending: str = "") -> str:
        """A path in the instance's directory for that of a file of this kind, the same for the same."""
        own = f"{self.context.prefix.rstrip('/')}/{kind}-{len(self._files) + 1}{ending}"
        return self._files.setdefault((kind, production), own)


def require_upstreams(context: RenderContext, known: Iterable[str]) -> None:
    """Raises RenderError for an upstream that is to be replaced, and that no request goes on to."""
    names = list(dict.fromkeys(known))
    for name in context.stand_ins:
        if not names:
            raise RenderError(f"upstream {name}: the file hands no requests on over HTTP")
        if name not in names:
            raise RenderError(f"upstream {name}: no requests go on to it; expected one of {', '.join(names)}")


def with_changes(
    text: str, changes: Sequence[Change], configuration: Configuration, knobs: Collection[str], site: str = ""
) -> str:
    """The text with these changes, and the comment that names them, the knobs in it, and where the settings
    of the workload's `site` are from.
    """
    said = [f"one more site is added, at an address of its own, which alone answers the workload{site}"]
    if knobs:
        values = (f"{name} = {value}" for name, value in configuration.items() if name in knobs)
        said.append(f"knobs of this trial: {', '.join(values)}")
    said += [change.what for change in changes if change.what]
    return naming(said) + apply(text, [(change.start, change.end, change.replacement) for change in changes])


def naming(differences: Sequence[str]) -> str:
    """The comment that names in what a private instance's file differs from the user's."""
    said = (_HEAD, *differences, _END)
    # A backslash at the end of a line would take the next one into the comment.
    return "".join(f"# {' '.join(sentence.split()).rstrip(chr(92))}\n" for sentence in said)


def named_in(text: str) -> tuple[str, ...]:
    """What such a comment at the beginning of a file names, and what stands before it; empty without one."""
    comment, end, _ = text.partition(f"# {_END}\n")
    lines = [line.removeprefix("# ") for line in comment.splitlines()]
    return tuple(line for line in lines if line != _HEAD) if end and _HEAD in lines else ()
