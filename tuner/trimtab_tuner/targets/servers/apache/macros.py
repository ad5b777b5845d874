"""Macros of a user's apache2.conf (mod_macro): a `Use` stands for the lines of a macro, with its arguments.

Apache puts them in as it reads, as text: of the names of parameters the first that stands in the rest of the
body is replaced, of two at one place the longer. What stands for one that begins with @ is put in quotes. A
definition says nothing before it is used.
"""

import re
from collections.abc import Iterator, Mapping

from trimtab_tuner.targets.servers.apache import syntax, variables
from trimtab_tuner.targets.servers.apache.syntax import MACRO, Line

MOST_CHARACTERS = 1 << 20
_WORD = re.compile(r"""(["'])((?:\\\\|\\\1|(?!\1).)*)\1|\S+""", re.DOTALL)


def defined(text: str, known: Mapping[str, str]) -> dict[str, str]:
    """What is known behind this text, macros too: of one that only stands in a section, the first."""
    found = dict(known)
    head: Line | None = None
    for line in syntax.walk(text):
        if line.name == MACRO and line.opens:
            head = line if line.words else None
        elif line.name == MACRO and line.closes and head is not None:
            said = syntax.one_line(text[head.words[0].start : head.words[-1].end])
            key = _key(_words(said)[0])
            if not (head.above and key in found):
                body = text[head.end : line.start].partition("\n")[2].rpartition("\n")[0]
                found[key] = f"{said}\n{body}"
            head = None
        elif line.name == "undefmacro":
            found.pop(_key(line.first), None)
    return found


def uses(text: str) -> Iterator[Line]:
    """Each `Use` outside of definitions."""
    return (line for line in syntax.walk(text) if line.name == "use" and line.words)


def expanded(use: Line, known: Mapping[str, str]) -> str | None:
    """The lines that it stands for; None for a macro that is not known, or has other parameters: Apache says
    so itself.
    """
    name, *arguments = _words(variables.filled(use.text[use.words[0].start - use.start :], known))
    macro = known.get(_key(name))
    if macro is None:
        return None
    head, _, body = macro.partition("\n")
    _, *parameters = _words(head)
    if len(parameters) != len(arguments):
        return None
    given = zip(parameters, arguments, strict=True)
    values = {name: _quoted(value) if name.startswith("@") else value for name, value in given}
    names = [re.escape(each) for each in sorted(values, key=len, reverse=True) if each]
    filled = re.sub("|".join(names), lambda each: values[each[0]], body) if names else body
    return filled if len(filled) <= MOST_CHARACTERS else None


def _quoted(value: str) -> str:
    return '"' + re.sub(r'([\\"])', r"\\\1", value) + '"'


def _key(name: str) -> str:
    """Under which a macro is known, beside variables, none of which is called so."""
    return f"<Macro {name.lower()}>"


def _words(said: str) -> list[str]:
    """As Apache takes a line apart: in quotes of either kind, a backslash goes before those and itself."""
    found = []
    for each in _WORD.finditer(syntax.one_line(said)):
        quote, word = (each[1], each[2]) if each[1] else ("", each[0])
        found.append(re.sub(rf"\\([\\{quote}])", r"\1", word))
    return found
