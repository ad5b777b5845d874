"""Rules about servers' languages: directives of nginx that may not stand so, or have to stand there; words in
place of numbers in those of h2o, lighttpd and Apache; what is set twice in h2o's.

What each directive of nginx is allowed, crossplane knows, the parser of its makers. A directive that it does
not know, of a module or of a later nginx, is passed over.
"""

import re
from collections.abc import Iterator

from crossplane.analyzer import analyze, enter_block_ctx
from crossplane.errors import NgxParserDirectiveError

from trimtab_tuner.checking.contradiction import Contradiction, contradiction
from trimtab_tuner.checking.machine import Machine
from trimtab_tuner.checking.statements import ServerFile, Statement

# Apache does not start with a word for these,
_REFUSED_WORDS = {
    "asyncrequestworkerfactor", "h2maxsessionstreams", "h2maxworkeridleseconds", "h2maxworkers",
    "h2minworkers", "h2streammaxmemsize", "h2windowsize", "keepalivetimeout", "limitrequestbody",
    "listenbacklog", "listencoresbucketsratio", "proxytimeout",
}  # fmt: skip
# and takes one for 0 here.
_WORDS_FOR_0 = {
    "gracefulshutdowntimeout", "limitrequestfields", "limitrequestfieldsize", "limitrequestline",
    "maxclients", "maxconnectionsperchild", "maxkeepaliverequests", "maxmemfree", "maxrequestworkers",
    "maxsparethreads", "minsparethreads", "proxyiobuffersize", "proxyreceivebuffersize",
    "receivebuffersize", "sendbuffersize", "serverlimit", "startservers", "threadlimit",
    "threadsperchild", "threadstacksize", "timeout",
}  # fmt: skip
# By later versions of nginx, or of its JavaScript, in more places than crossplane knows.
_TAKEN_IN_STREAM = {"server_name", "set"}
_WORD = re.compile(r"(?!inf|nan)[a-z]", re.IGNORECASE)  # those two are numbers to C


def without_events(file: ServerFile, _machine: Machine) -> Iterator[Contradiction]:
    """An nginx.conf without a block events, with which nginx does not start."""
    if file.target.name != "nginx":
        return
    if not any(statement.is_block and not statement.around for statement in file.named("events")):
        yield contradiction(
            "no-events",
            "error",
            None,
            "There is no block events, and nginx does not start without one.",
            'nginx -t: no "events" section in configuration',
            suggestion="events {} outside of all blocks.",
        )


def misplaced(file: ServerFile, _machine: Machine) -> Iterator[Contradiction]:
    """Directives that nginx would not take there, or not so."""
    if file.target.name != "nginx":
        return
    for statement in file.statements:
        in_stream = bool(statement.around) and statement.around[0].name == "stream"
        if statement.name.startswith("js_") or (in_stream and statement.name in _TAKEN_IN_STREAM):
            continue
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


def word_for_number(file: ServerFile, _machine: Machine) -> Iterator[Contradiction]:
    """A word where Apache wants a number, in its virtual hosts too; other sections may not apply."""
    if file.target.name != "apache":
        return
    for statement in file.named(*_REFUSED_WORDS, *_WORDS_FOR_0):
        if any(block.name != "virtualhost" for block in statement.around) or not _WORD.match(statement.first):
            continue
        refused = statement.name in _REFUSED_WORDS
        then = "Apache does not start" if refused else "Apache takes it for 0"
        yield contradiction(
            "word-for-a-number",
            "error" if refused else "warning",
            statement,
            f"{statement.written} takes a number, and here it is {statement.first}: {then}.",
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
