"""What a file says, line by line, in the same form for every server: names, arguments, and what is around.

Each language has its scanner in its target's folder; here its pieces are only brought into one form. Lines
are those of the whole text, with includes filled in.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from trimtab_tuner.targets.base import Target
from trimtab_tuner.targets.behind import Upstream
from trimtab_tuner.targets.servers.apache import syntax as apache
from trimtab_tuner.targets.servers.core import syntax as core
from trimtab_tuner.targets.servers.h2o import syntax as h2o
from trimtab_tuner.targets.servers.lighttpd import syntax as lighttpd
from trimtab_tuner.targets.servers.mariadb import option_file
from trimtab_tuner.targets.servers.nginx import syntax as nginx
from trimtab_tuner.targets.told import LineAt, lines_of


@dataclass(frozen=True, eq=False)
class Statement:
    """A setting, or the head of a block; `around` are the heads of the blocks it stands in, outermost first.

    Names of Apache's are in small letters; `written` is how the file has them, where that is another way.
    """

    name: str
    arguments: tuple[str, ...]
    line: int
    around: tuple["Statement", ...] = ()
    is_block: bool = False
    written: str = ""

    @property
    def first(self) -> str:
        """The first argument; empty without one."""
        return self.arguments[0] if self.arguments else ""

    @property
    def modules(self) -> tuple[str, ...]:
        """What the sections <IfModule> around it ask for, in a file of Apache."""
        return tuple(block.first for block in self.around if block.name == "ifmodule")

    @property
    def number(self) -> int | None:
        """The first argument as a whole number; None where it is none."""
        return int(self.first) if self.first.isdecimal() else None

    @property
    def said(self) -> str:
        """Its name and arguments, as they stand in a sentence."""
        return " ".join((self.written or self.name, *self.arguments))

    def inside(self, *names: str) -> bool:
        """Whether it stands in a block of one of these names."""
        return any(block.name in names for block in self.around)


@dataclass(frozen=True)
class ServerFile:
    """A file of the target: what it says, in its order; `upstreams` has each address that it hands requests
    on to behind what says so.
    """

    target: Target
    statements: tuple[Statement, ...]
    upstreams: tuple[tuple[Statement, Upstream], ...] = ()

    def named(self, *names: str) -> Iterator[Statement]:
        """The statements with one of these names, in their order."""
        return (statement for statement in self.statements if statement.name in names)

    def nearest(self, at: Statement, name: str) -> Sequence[Statement]:
        """Those with that name in the innermost block around a statement that has any."""
        around = (at.around[:depth] for depth in range(len(at.around), -1, -1))
        return next((found for each in around if (found := self._inside.get((name, each[-1:])))), ())

    @cached_property
    def _inside(self) -> dict[tuple[str, tuple[Statement, ...]], list[Statement]]:
        """The statements by name and the block right around them."""
        found: dict[tuple[str, tuple[Statement, ...]], list[Statement]] = {}
        for each in self.statements:
            found.setdefault((each.name, each.around[-1:]), []).append(each)
        return found

    @cached_property
    def _last(self) -> dict[str, Statement]:
        return {each.name: each for each in self.statements}

    def last(self, name: str) -> Statement | None:
        """The last with that name: where a setting may stand once, the one in force."""
        return self._last.get(name)

    def number(self, name: str, otherwise: int) -> int:
        """The number that the last with that name says; what the server does without it, or with a word."""
        found = self.last(name)
        return otherwise if found is None or found.number is None else found.number


def read(target: Target, text: str) -> ServerFile:
    """The whole text of a file. Raises RenderError for what is no file of the target."""
    line_of = lines_of(text)
    behind = (
        (Statement(each.setting, (each.address,), line_of(each.start)), each)
        for each in target.upstreams(text)
    )
    return ServerFile(target, tuple(_READERS[target.name](text, line_of)), tuple(behind))


def _of_nginx(text: str, _line_of: LineAt) -> Iterator[Statement]:
    heads: dict[int, Statement] = {}
    for directive, above in nginx.walk(nginx.parse(text)):
        around = tuple(heads[id(block)] for block in above)
        block = directive.block is not None
        said = Statement(directive.name, tuple(directive.arguments), directive.line, around, block)
        if block:
            heads[id(directive)] = said
        yield said


def _of_apache(text: str, line_of: LineAt) -> Iterator[Statement]:
    around: list[Statement] = []
    for line in apache.walk(text):
        if line.closes:
            if line.name in [head.name for head in around]:
                while around.pop().name != line.name:
                    pass
            continue
        words = tuple(word.text for word in line.words)
        written = "" if line.opens else line.text.split()[0]
        said = Statement(line.name, words, line_of(line.start), tuple(around), line.opens, written)
        if line.opens:
            around.append(said)
        yield said


def _of_lighttpd(text: str, line_of: LineAt) -> Iterator[Statement]:
    around: list[Statement] = []
    for each in lighttpd.walk(text):
        del around[each.depth :]
        setting = each.setting
        name, value = ("", each.text) if setting is None else (setting[0], setting[2].strip().strip('"'))
        said = Statement(name, (value,), line_of(each.start), tuple(around), each.is_head)
        if each.is_head:
            around.append(said)
        yield said


def _of_h2o(text: str, line_of: LineAt) -> Iterator[Statement]:
    for command in h2o.commands(text):
        value = command.value.value
        plain = isinstance(value, str) and not (command.value.tag or "").startswith("!")
        around = tuple(Statement(name, (), 0, is_block=True) for name in command.above)
        yield Statement(command.name, (value,) if plain else (), line_of(command.start), around)


def _of_core(text: str, line_of: LineAt) -> Iterator[Statement]:
    for each in core.assignments(text):
        yield Statement(each.name, (each.value,), line_of(each.start))


def _of_mariadb(text: str, line_of: LineAt) -> Iterator[Statement]:
    for each in option_file.assignments(text):
        yield Statement(each.name, (each.value,), line_of(each.start))


_READERS: Mapping[str, Callable[[str, LineAt], Iterator[Statement]]] = {
    "nginx": _of_nginx,
    "apache": _of_apache,
    "lighttpd": _of_lighttpd,
    "h2o": _of_h2o,
    "core": _of_core,
    "mariadb": _of_mariadb,
}
