"""Tables in Markdown, for the documents that people are handed."""

from collections.abc import Collection, Sequence


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """A table without a line break at its end; the columns `right`, from 0 on, are set right."""
    rule = ["---:" if column in right else "---" for column in range(len(heads))]
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in (heads, rule, *rows))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
