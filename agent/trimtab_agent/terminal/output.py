"""What a command writes: a JSON document, or a file that the user has asked for."""

import json
from pathlib import Path

from trimtab_agent.errors import HostError


def print_json(document: object) -> None:
    """Prints a document on standard output."""
    print(json.dumps(document, indent=2, ensure_ascii=False))


def write_text(file: Path, text: str) -> None:
    """Writes a file that the user has asked for; raises HostError."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise HostError(f"cannot write {file}: {error.strerror}") from error
