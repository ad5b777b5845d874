"""Keys that whoever runs Trimtab may not read, with their certificates: made ones stand in their place.

A server that is started by an ordinary user could not start with such a key, and how long a handshake takes
hangs on the kind of the key and its size alone. These are taken from the certificate, which all may read most
often; each stand-in is made once, and is one file with both.
"""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from trimtab_tuner.targets import tls
from trimtab_tuner.targets.assignments import Assignment
from trimtab_tuner.targets.base import Target
from trimtab_tuner.targets.editing import apply

from trimtab_agent.station.server.certificates import KeyKind, kind_of, make_pair


class Pair(NamedTuple):
    """What a file names together; one of them may be missing, or be in the other's file."""

    certificate: Assignment | None
    key: Assignment | None

    @property
    def named(self) -> tuple[Assignment, ...]:
        """Those of the two that there are."""
        return tuple(each for each in (self.certificate, self.key) if each is not None)

    def kind(self) -> KeyKind:
        """That of the key, by its certificate; the usual one where that cannot be read either."""
        known = None if self.certificate is None else kind_of(Path(self.certificate.value))
        return known or KeyKind()

    def sentence(self) -> str:
        """What stands in their place, and why."""
        said = " and ".join(f"{each.name} {each.value}" for each in self.named)
        unread = next(each.value for each in self.named if is_guarded(Path(each.value)))
        made = "a made one" if len(self.named) == 1 else "made ones"
        return f"{said}: {made} in place of yours, {self.kind()}, as {unread} may not be read by this user"


def is_guarded(path: Path) -> bool:
    """Whether there is a file that this user may not read, or a folder that hides whether there is one."""
    try:
        with path.open("rb"):
            return False
    except PermissionError:
        return True
    except OSError:  # the server says what is wrong with it
        return False


def guarded(target: Target, text: str) -> list[Pair]:
    """The keys and certificates of a server's file of which this user may not read one."""
    return [
        pair
        for pair in _pairs(target.reads(text))
        if any(is_guarded(Path(each.value)) for each in pair.named)
    ]


def with_made_keys(target: Target, text: str, directory: Path) -> str:
    """The file with made keys and certificates in place of those, and a comment for each.

    They are kept in `directory` for the next file. Raises BinaryMissing, HostError.
    """
    edits, said = [], ""
    for pair in guarded(target, text):
        digest = hashlib.sha256("\n".join(each.value for each in pair.named).encode()).hexdigest()[:12]
        made = directory / f"made-{digest}.pem"
        make_pair(made, pair.kind())
        edits += [(each.start, each.end, str(made)) for each in pair.named]
        said += f"# {pair.sentence()}\n"
    return said + apply(text, edits)


def _pairs(named: Sequence[Assignment]) -> Iterator[Pair]:
    """Each key with its certificate: the one that stands before it or else behind it, in the same order where
    there are several together.
    """
    families: dict[str, list[Assignment]] = {}
    for each in named:
        if (family := tls.family(each.name)) is not None:
            families.setdefault(family, []).append(each)
    for members in families.values():
        waiting: list[Assignment] = []
        for _, together in groupby(members, key=lambda each: tls.is_key(each.name)):
            run = list(together)
            both = min(len(waiting), len(run))
            yield from map(_alone, waiting[: len(waiting) - both])
            for one, other in zip(waiting[len(waiting) - both :], run[:both], strict=True):
                yield Pair(other, one) if tls.is_key(one.name) else Pair(one, other)
            waiting = run[both:]
        yield from map(_alone, waiting)


def _alone(named: Assignment) -> Pair:
    return Pair(None, named) if tls.is_key(named.name) else Pair(named, None)
