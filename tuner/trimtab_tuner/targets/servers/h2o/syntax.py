"""The language of h2o.conf, YAML: read by ruamel.yaml, whose nodes know where they stand in the text.

Nodes are as they are written: `ON` is no truth value, what stands twice stands twice, an anchor stays one.
"""

import json
import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import NamedTuple

from ruamel import yaml
from ruamel.yaml.error import YAMLError

from trimtab_tuner.targets.assignments import Assignment
from trimtab_tuner.targets.base import RenderError

# Behind a name what stands for a value that is said elsewhere, and before a value what it is called there.
_ALIAS = re.compile(r"\s*:\s+(\*[^\s,\[\]{}]+)")
_CALLED = re.compile(r"&[^\s,\[\]{}]+\s+")


class Command(NamedTuple):
    """A command of h2o's with the names of those that it stands in, and its `start`; its value stands at
    `place`, where that may only be the name of one that is said elsewhere.
    """

    name: str
    above: tuple[str, ...]
    value: yaml.Node
    start: int
    column: int
    place: tuple[int, int]

    @property
    def is_alias(self) -> bool:
        """Whether its value is said elsewhere."""
        return bool(self.place[1] != self.value.end_mark.index)


@lru_cache(maxsize=1)  # one text is asked for many things, one behind the other
def commands(text: str) -> list[Command]:
    """All commands of the file in their order, to be read only. Raises RenderError for no h2o.conf."""
    try:
        root = yaml.YAML(typ="safe", pure=True).compose(text)
    except YAMLError as error:
        raise RenderError(_why(error)) from error
    except RecursionError as error:  # ruamel.yaml calls itself for each
        raise RenderError("expected fewer lists and mappings in each other") from error
    if root is None:
        return []
    if not isinstance(root, yaml.MappingNode) or in_braces(root):
        raise RenderError("expected commands, each at the beginning of a line with a colon behind it")
    return list(_inside(root, (), set(), text))


def _why(error: YAMLError) -> str:
    """The complaint of the parser, with the line."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None)
    if mark is None or not problem:
        return f"it is no YAML: {' '.join(str(error).split())}"
    context = getattr(error, "context", None)
    return f"line {mark.line + 1}: it is no YAML: {problem}{f' ({context})' if context else ''}"


def in_braces(node: yaml.Node) -> bool:
    """Whether a list or a mapping is written in braces."""
    return isinstance(node, yaml.MappingNode | yaml.SequenceNode) and bool(node.flow_style)


def _inside(node: yaml.Node, above: tuple[str, ...], seen: set[int], text: str) -> Iterator[Command]:
    """The commands in a node; what several names stand for is read once."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for each in node.value:
            yield from _inside(each, above, seen, text)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                alias = _ALIAS.match(text, key.end_mark.index)
                place = alias.span(1) if alias else place_of(value, text)
                yield Command(key.value, above, value, key.start_mark.index, key.start_mark.column, place)
                yield from _inside(value, (*above, key.value), seen, text)


def place_of(value: yaml.Node, text: str) -> tuple[int, int]:
    """Where a value begins and ends, without what it is called for others."""
    start = value.start_mark.index
    called = _CALLED.match(text, start, value.end_mark.index)
    return (start if called is None else called.end()), value.end_mark.index


def named_elsewhere(command: Command, text: str) -> bool:
    """Whether other commands have their value from this one."""
    called = command.value.anchor
    if not called or command.is_alias:
        return False
    return re.search(rf"\*{re.escape(called)}(?![\w-])", text) is not None


def spans(text: str, names: Collection[str]) -> list[tuple[Command, int]]:
    """The commands of the top level with these names, each with where the next one begins."""
    top = [command for command in commands(text) if not command.above]
    ends = [*(command.start for command in top), len(text)][1:]
    return [pair for pair in zip(top, ends, strict=True) if pair[0].name in names]


def quoted(text: str) -> str:
    """A string of YAML in double quotes."""
    return json.dumps(text, ensure_ascii=False)


def assignments(text: str) -> Iterator[Assignment]:
    """The top-level commands that have a plain value."""
    for command in commands(text):
        if not command.above and isinstance(command.value, yaml.ScalarNode) and command.value.value:
            yield Assignment(command.name, command.value.value, *command.place)
