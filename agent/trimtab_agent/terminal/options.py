"""What several commands of the command line share: options, and the settings they lead to."""

from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from trimtab_agent.errors import SpecError
from trimtab_agent.settings import Settings

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Var = Annotated[
    Path | None, typer.Option("--var", help="Directory of everything that running leaves behind.")
]


def load_settings(**options: object) -> Settings:
    """The settings from the environment, with the options that were given; raises SpecError."""
    try:
        return Settings(**{name: value for name, value in options.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise SpecError(name, f"{name} = {first['input']!r}: {first['msg']}") from error
