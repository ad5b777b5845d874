"""The language of nginx.conf: directives that end in a semicolon or carry a block in braces.

`parse` keeps for each directive where it stands in the text, so that one of them can be changed and every
other byte stays (ngx_conf_read_token in nginx's src/core/ngx_conf_file.c is the rule for words and quotes).
Libraries that read the language keep lines, but no places in them. What stands in a block of Lua is no
directive; it is passed over.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from trimtab_tuner.targets.base import RenderError

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+|\#[^\n]*)
      | (?P<mark>[;{}])
      | "(?P<double>(?:[^"\\]|\\.)*)"
      | '(?P<single>(?:[^'\\]|\\.)*)'
      | (?P<word>(?!["'}])(?:\$\{|\\.|[^ \t\r\n;{])+)""",
    re.VERBOSE | re.DOTALL,
)  # nginx knows four kinds of white space; what else Unicode has of it, or Latin-1, is part of a word
_LUA = re.compile(
    r"""--\[(?P<remark>=*)\[.*?\](?P=remark)\] | --[^\n]*
      | \[(?P<level>=*)\[.*?\](?P=level)\]
      | "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*'
      | (?P<brace>[{}]) | .""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r"""\\(["'\\trn])""")
_SIGNS = {"t": "\t", "r": "\r", "n": "\n"}
_BREAK = re.compile("\n")
_LUA_BLOCK = "_by_lua_block"
MOST_NESTED = 100  # blocks in each other; people write five
OTHER_SERVICES = ("stream", "mail", "rtmp")
"""Blocks beside `http` of services that speak other protocols."""
# Blocks whose lines are data, whatever their first word is.
_DATA = {"charset_map", "geo", "map", "split_clients", "types"}


@dataclass(eq=False, slots=True)
class Directive:
    """One directive: `start` to `end` is its text; the inside of a block begins at `body_start`."""

    name: str
    arguments: list[str]
    start: int
    end: int = 0
    line: int = 0
    block: list["Directive"] | None = None
    body_start: int = 0
    spans: list[tuple[int, int]] = field(default_factory=list)


@lru_cache(maxsize=1)  # one text is asked for many things, one behind the other
def parse(text: str) -> list[Directive]:
    """The directives of the file, blocks nested, to be read only. Raises RenderError with the line."""
    top: list[Directive] = []
    stack: list[list[Directive]] = [top]
    open_blocks: list[Directive] = []
    words: list[tuple[str, int, int]] = []
    breaks = [found.start() for found in _BREAK.finditer(text)]
    for kind, value, start, end in _tokens(text):
        if kind == "word":
            words.append((value, start, end))
        elif value == "}":
            if words or not open_blocks:
                raise RenderError(f'line {_line(text, start)}: unexpected "}}"')
            open_blocks.pop().end = end
            stack.pop()
        else:
            if not words:
                raise RenderError(f'line {_line(text, start)}: unexpected "{value}"')
            directive = Directive(
                name=words[0][0],
                arguments=[word for word, _, _ in words[1:]],
                start=words[0][1],
                end=end,
                line=bisect_left(breaks, words[0][1]) + 1,
                spans=[(a, b) for _, a, b in words],
            )
            stack[-1].append(directive)
            words = []
            if value == "{":
                if len(open_blocks) == MOST_NESTED:
                    raise RenderError(
                        f"line {directive.line}: expected at most {MOST_NESTED} blocks in each other"
                    )
                directive.block, directive.body_start = [], end
                stack.append(directive.block)
                open_blocks.append(directive)
    if words or open_blocks:
        innermost = "".join(f" ({each.name} in line {each.line} is not closed)" for each in open_blocks[-1:])
        raise RenderError(f'unexpected end of file: expected ";" or "}}"{innermost}')
    return top


def find(directives: list[Directive], *path: str) -> list[Directive]:
    """The directives under a path of names: `find(top, "http", "server")` gives every server block."""
    found = [directive for directive in directives if directive.name == path[0]]
    if len(path) == 1:
        return found
    return [inner for outer in found for inner in find(outer.block or [], *path[1:])]


def walk(
    directives: list[Directive], above: tuple[Directive, ...] = ()
) -> Iterator[tuple[Directive, tuple[Directive, ...]]]:
    """Every directive with the blocks that it stands in, the outermost first; lines of data are none."""
    for directive in directives:
        yield directive, above
        if directive.block is not None and directive.name not in _DATA:
            yield from walk(directive.block, (*above, directive))


def _tokens(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Words and marks with their places; a quoted string is a word without its quotes."""
    position = 0
    first = ""  # word of the directive
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise RenderError(f"line {_line(text, position)}: a quoted string has no end")
        position = match.end()
        kind = match.lastgroup
        if kind == "mark":
            yield "mark", match[0], match.start(), match.end()
            if match[0] == "{" and first.endswith(_LUA_BLOCK):
                position = _lua_end(text, position)
            first = ""
        elif kind in ("double", "single"):
            first = first or match[kind]
            yield "word", _unescaped(match[kind]), match.start(), match.end()
        elif kind == "word":
            first = first or match[0]
            yield "word", _unescaped(match[0]), match.start(), match.end()


def _unescaped(word: str) -> str:
    """The word as nginx takes it: a backslash before anything else, as in a regular expression, stays."""
    return _ESCAPED.sub(lambda found: _SIGNS.get(found[1], found[1]), word) if "\\" in word else word


def _lua_end(text: str, position: int) -> int:
    """Where the brace stands that closes the block of Lua which begins there; the end if there is none."""
    depth = 0
    for piece in _LUA.finditer(text, position):
        if piece["brace"] == "}" and depth == 0:
            return piece.start()
        depth += {"{": 1, "}": -1}.get(piece[0], 0)
    return len(text)


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
