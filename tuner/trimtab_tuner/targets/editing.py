"""What editing a user's own configuration file has in common, whatever the server's language.

What is made of such a file, a target says itself (`Target.changed`, `Target.private`).
"""

from collections.abc import Collection

from trimtab_trials.configuration import Configuration

from trimtab_tuner.targets.assignments import ending_as_in
from trimtab_tuner.targets.base import Excerpt, Target, space_of
from trimtab_tuner.targets.tls import KEY

Edit = tuple[int, int, str]
"""Text from one place to another, and what replaces it."""


def apply(text: str, edits: Collection[Edit]) -> str:
    """The text with these edits, which do not overlap; new lines end as those of the text do."""
    pieces, position = [], 0
    for start, end, replacement in sorted(edits):
        pieces += [text[position:start], ending_as_in(text, replacement)]
        position = end
    return "".join((*pieces, text[position:]))


def single_lines(text: str, knobs: Collection[str]) -> Excerpt:
    """The lines of a file in whose language a setting is one line, each with the knob that it sets.

    A line that only goes with another has none.
    """
    names = sorted(knobs, key=len, reverse=True)
    return [
        (tuple(name for name in names if line.startswith(name))[:1], line + "\n")
        for line in text.splitlines()
        if line
    ]


def own_values(target: Target, text: str, cpus: int) -> Configuration:
    """What a file makes of every knob: its own value, or what the server does without being told.

    Raises RenderError for a file that cannot be understood.
    """
    own = target.parse(text, cpus)
    unset, of_architecture = target.space(cpus=cpus).default(), space_of(target, own, cpus).default()
    # One with the same knobs only begins a search at other values; the server itself does the same.
    return {**(unset if unset.keys() == of_architecture.keys() else of_architecture), **own}


def own_tls(target: Target, text: str) -> Configuration:
    """What a file makes of the knobs of TLS and HTTP/2; the kind of key is not read from it."""
    knobs = (*target.tls_knobs, *(target.http2.all_knobs if target.http2 is not None else ()))
    return {**{knob.name: knob.default for knob in knobs}, **target.parse_tls(text)}


def own_proxying(target: Target, text: str) -> Configuration:
    """What a file makes of the knobs of proxying."""
    return {**{knob.name: knob.default for knob in target.proxy_knobs}, **target.parse_proxy(text)}


def own_of_all(target: Target, text: str, cpus: int) -> Configuration:
    """What a file makes of all of these, and of its access logs, whatever the workload is."""
    own = {**own_values(target, text, cpus), **own_tls(target, text), **own_proxying(target, text)}
    return {**own, **target.parse_log(text)}


def changed_knobs(target: Target, text: str, configuration: Configuration, cpus: int) -> tuple[str, ...]:
    """The knobs in which a configuration differs from the file."""
    own = own_of_all(target, text, cpus)
    own[KEY.name] = configuration.get(KEY.name, KEY.default)  # the certificates stay as they are
    # What the file has no knob of is that of a program behind the server, or of the kernel.
    return tuple(name for name, value in configuration.items() if name in own and own[name] != value)
