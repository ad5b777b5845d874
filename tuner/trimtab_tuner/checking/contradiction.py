"""What a check of a file says: a line of it, what on the machine speaks against it, and what to do."""

from typing import Literal

from trimtab_tuner.checking.statements import Statement
from trimtab_tuner.frozen import Frozen

Severity = Literal["error", "warning", "note"]
"""An error does harm at once or as soon as there is load; a warning may; a note costs something."""


class Contradiction(Frozen):
    """`sentence` says what contradicts what, `evidence` where that can be seen, `suggestion` what to do.

    `line` is that of the file that was checked, or of `file` if one is named; None where the file says
    nothing of it, and the server's default is what contradicts.
    """

    rule: str
    severity: Severity
    sentence: str
    evidence: tuple[str, ...]
    suggestion: str
    file: str = ""
    line: int | None = None


def contradiction(
    rule: str,
    severity: Severity,
    at: Statement | None,
    sentence: str,
    *evidence: str,
    suggestion: str,
) -> Contradiction:
    """One at a line of the file, or at none."""
    return Contradiction(
        rule=rule,
        severity=severity,
        sentence=sentence,
        evidence=evidence,
        suggestion=suggestion,
        line=None if at is None else at.line,
    )
