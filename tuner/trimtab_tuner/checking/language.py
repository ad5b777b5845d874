"""Rules about servers' languages: directives of nginx that may not stand so; in those of h2o and lighttpd
words in place of numbers, and what is set twice.

What each directive of nginx is allowed, crossplane knows, the parser of its makers. A directive that it does
not know, of a module or of a later nginx, is passed over.
"""

from collections.abc import Iterator

from crossplane.analyzer import analyze, enter_block_ctx
from crossplane.errors import NgxParserDirectiveError

from trimtab_tuner.checking.contradiction import Contradiction, contradiction
from trimtab_tuner.checking.machine import Machine
from trimtab_tuner.checking.statements import ServerFile, Statement


def misplaced(file: ServerFile, _machine: Machine) -> Iterator[Contradiction]:
    """Directives that nginx would not take there, or not so."""
    if file.target.name != "nginx":
        return
    for statement in file.statements:
        try:
            analyze(
                fname="",
                stmt=_stmt(statement),
                term="{" if statement.is_block else ";",
                ctx=_context(statement),
            )
        except NgxParserDirectiveError as error:
            yield contradiction(
                "directive-not-allowed-so",
                "error",
                statement,
                f"nginx refuses this line: {error.strerror}.",
                "crossplane, the parser of NGINX, Inc.",
                suggestion="nginx -t says the same in its own words.",
            )


def no_number(file: ServerFile, _machine: Machine) -> Iterator[Contradiction]:
    """What is no whole number, where one is set outside of all blocks."""
    if file.target.name not in ("h2o", "lighttpd"):
        return
    numbers = {knob.name for knob in file.target.space().knobs if isinstance(knob.default, int)}
    numbers.add("server.max-fds")  # `auto` is our own word for a number
    for statement in file.named(*numbers):
        value = statement.first
        if statement.around or not value or value.isdecimal() or _is_made_of_others(file, value):
            continue
        yield contradiction(
            "not-a-number",
            "error",
            statement,
            f"{statement.name} takes a whole number, and here it is {value}.",
            statement.said,
            suggestion="A number, or none of this line.",
        )


def set_twice(file: ServerFile, _machine: Machine) -> Iterator[Contradiction]:
    """A setting of h2o's that stands in two places outside of all others: the last one counts."""
    if file.target.name != "h2o":
        return
    before: dict[str, Statement] = {}
    for statement in file.named(*(knob.name for knob in file.target.space().knobs)):
        if statement.around:
            continue
        if statement.name in before:
            first = before[statement.name]
            yield contradiction(
                "set-twice",
                "warning",
                statement,
                f"{statement.name} is set here and in line {first.line} already, and this one counts.",
                first.said,
                statement.said,
                suggestion="Keep one of the lines.",
            )
        before[statement.name] = statement


def _is_made_of_others(file: ServerFile, value: str) -> bool:
    """Whether lighttpd evaluates it: a sum, or the name of what is set elsewhere."""
    if file.target.name != "lighttpd":
        return False
    named = value.removeprefix("var.")
    known = file.last(named) or file.last(f"var.{named}")
    return "+" in value or value.startswith("env.") or known is not None


def _stmt(statement: Statement) -> dict[str, object]:
    return {"directive": statement.name, "line": statement.line, "args": list(statement.arguments)}


def _context(statement: Statement) -> tuple[str, ...]:
    """The blocks around, as crossplane names places."""
    context: tuple[str, ...] = ()
    for block in statement.around:
        context = enter_block_ctx(_stmt(block), context)
    return context
