"""A run as a Markdown document: `trimtab show --markdown`."""

from trimtab_db import Repository
from trimtab_tuner.markdown import markdown_table

from trimtab_agent.results.analysis import analyse_run
from trimtab_agent.results.document import (
    Block,
    Heading,
    Listing,
    Paragraph,
    Rows,
    document_of,
    document_title,
)


def run_markdown(repository: Repository, run_id: int) -> str:
    """The document; raises RecordNotFoundError."""
    parts = [
        f"# {document_title(repository.run(run_id))}",
        f"Made by `trimtab show {run_id} --markdown` from what the run recorded.",
        *(_markdown(block) for block in document_of(repository, run_id, analyse_run(repository, run_id))),
    ]
    return "\n\n".join(parts) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading(text):
            return f"## {text}"
        case Paragraph(text, lead):
            return f"**{lead}** {text}" if lead else text
        case Listing(text):
            return f"```sh\n{text}\n```"
        case Rows(heads, lines):
            return markdown_table(heads, lines)
