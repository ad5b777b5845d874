"""Whether what a lighttpd.conf opens is closed in the same file: strings, lists, conditions.

Only what lighttpd does not start with is told. Where a bracket stands that belongs to nothing before it,
lighttpd takes no notice of the rest of the file, and so is none taken here.
"""

import re

# In a string of lighttpd's only a quote is escaped: one that follows two backslashes is still part of it.
_PIECE = re.compile(r'"(?:\\"|\\(?!")|[^"\\])*(?P<end>"?)|#[^\n]*|[(){}\n]|[^\s"#(){}]+')
_OPENED = {"(": "this list", "{": "this block"}
_HEAD = re.compile(r"\$[A-Z]+\[$|else$|global$")


def unclosed(text: str) -> tuple[int, str] | None:
    """The place of what keeps lighttpd from starting, and a sentence; None where nothing so does."""
    opened: list[tuple[str, int]] = []
    first = before = ""  # pieces of the statement
    over_lines: int | None = (
        None  # the first string with a line break: most likely the one that lacks its end
    )
    for piece in _PIECE.finditer(text):
        said, place = piece[0], piece.start()
        if said.startswith("#"):
            continue
        if said == "\n":
            if not _in_list(opened):
                first = before = ""
            continue
        first = first or said
        if said.startswith('"'):
            if not piece["end"]:
                return (
                    place if over_lines is None else over_lines,
                    'the string that begins here has no " at its end',
                )
            if over_lines is None and "\n" in said:
                over_lines = place
        elif said in _OPENED:
            if not _may_open(said, first, before, in_list=_in_list(opened)):
                return None
            opened.append((said, place))
        elif said == ")":
            if not _in_list(opened):
                return place, "this ) closes a list that is not open here"
            opened.pop()
        elif said == "}":
            if not opened or _in_list(opened):
                return None
            opened.pop()
        if said in ("{", "}"):
            first = before = ""
        else:
            before = said
    if not opened:
        return None
    sign, place = next((each for each in opened if each[0] == "("), opened[-1])
    return place, f"{_OPENED[sign]} is not closed"


def _may_open(sign: str, first: str, before: str, *, in_list: bool) -> bool:
    """Whether a list or a block may begin behind these pieces of a statement."""
    if sign == "(":
        return before not in ("", first) or in_list
    return not in_list and _HEAD.match(first) is not None and (first == before or before.startswith('"'))


def _in_list(opened: list[tuple[str, int]]) -> bool:
    return bool(opened) and opened[-1][0] == "("
