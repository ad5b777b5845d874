"""Rules about nginx's language: which directive may stand where, and with how many arguments.

What each directive is allowed, crossplane knows, the parser of the makers of nginx. A directive that it does
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


def _stmt(statement: Statement) -> dict[str, object]:
    return {"directive": statement.name, "line": statement.line, "args": list(statement.arguments)}


def _context(statement: Statement) -> tuple[str, ...]:
    """The blocks around, as crossplane names places."""
    context: tuple[str, ...] = ()
    for block in statement.around:
        context = enter_block_ctx(_stmt(block), context)
    return context
