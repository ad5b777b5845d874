"""The language of h2o.conf, YAML: read by ruamel.yaml, whose nodes know where they stand in the text.

Nodes are as they are written: `ON` is no truth value, what stands twice stands twice, an anchor stays one.
"""

import json
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import NamedTuple

from ruamel import yaml
from ruamel.yaml.error import YAMLError

from trimtab_tuner.targets.assignments import Assignment
from trimtab_tuner.targets.base import RenderError


class Command(NamedTuple):
    """A command of h2o's with the names of those that it stands in, and its place, the value's too."""

    name: str
    above: tuple[str, ...]
    value: yaml.Node
    start: int
    column: int

    @property
    def place(self) -> tuple[int, int]:
        """Where the value begins and ends."""
        return self.value.start_mark.index, self.value.end_mark.index


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
    return list(_inside(root, (), set()))


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


def _inside(node: yaml.Node, above: tuple[str, ...], seen: set[int]) -> Iterator[Command]:
    """The commands in a node; what several names stand for is read once."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for each in node.value:
            yield from _inside(each, above, seen)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                yield Command(key.value, above, value, key.start_mark.index, key.start_mark.column)
                yield from _inside(value, (*above, key.value), seen)


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
