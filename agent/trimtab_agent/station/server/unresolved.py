"""Upstreams whose names are not known on this machine, for a server that would not start without them.

nginx looks every name up as it starts, and ends with "host not found in upstream". The workload asks nothing
of those sites, so that an address where nobody listens does as well.
"""

from trimtab_tuner.targets.base import Target
from trimtab_tuner.targets.editing import apply

from trimtab_agent.host.answering import NOWHERE, UNRESOLVED, unresolved


def with_resolvable(target: Target, text: str) -> str:
    """The file with such an address in place of names that do not resolve, and a comment for each."""
    upstreams = target.upstreams(text)
    unknown = unresolved(upstreams)
    lost = [each for each in upstreams if each.address in unknown]
    said = dict.fromkeys(f"# {each.setting} {each.address} at {NOWHERE}: {UNRESOLVED}\n" for each in lost)
    return "".join(said) + apply(text, {(each.start, each.end, NOWHERE) for each in lost})
