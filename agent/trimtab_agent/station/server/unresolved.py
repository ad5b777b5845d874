"""Upstreams whose names are not known on this machine, for a server that would not start without them.

nginx looks every name up as it starts, and ends with "host not found in upstream". The workload asks nothing
of those sites, so that an address where nobody listens does as well.
"""

from collections.abc import Collection

from trimtab_tuner.checking.machine import UNRESOLVED
from trimtab_tuner.targets.base import Target
from trimtab_tuner.targets.behind import Upstream
from trimtab_tuner.targets.editing import apply

from trimtab_agent.host.answering import NOWHERE, unresolved


class Names:
    """What has been found of names, each of which is looked up once.

    A resolver that is silent would make every start wait, and with a name that comes back meanwhile later
    trials would be other ones than those before.
    """

    def __init__(self) -> None:
        self._unresolved: dict[str, bool] = {}  # by address

    def unresolved(self, upstreams: Collection[Upstream]) -> set[str]:
        """Those of the addresses whose name was not known here."""
        new = [each for each in upstreams if each.address not in self._unresolved]
        if new:
            lost = unresolved(new)
            self._unresolved |= {each.address: each.address in lost for each in new}
        return {each.address for each in upstreams if self._unresolved[each.address]}

    def forget(self) -> None:
        """Has all names looked up anew when they are needed next."""
        self._unresolved.clear()


def with_resolvable(target: Target, text: str, names: Names) -> str:
    """The file with such an address in place of names that do not resolve, and a comment for each."""
    upstreams = target.upstreams(text)
    unknown = names.unresolved(upstreams)
    lost = [each for each in upstreams if each.address in unknown]
    said = dict.fromkeys(f"# {each.setting} {each.address} at {NOWHERE}: {UNRESOLVED}\n" for each in lost)
    return "".join(said) + apply(text, {(each.start, each.end, NOWHERE) for each in lost})
