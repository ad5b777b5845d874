"""What a run may be called: by its user, in the browser or on the command line."""

from typing import Annotated

from pydantic import StringConstraints, TypeAdapter, ValidationError

from trimtab_agent.errors import SpecError

LONGEST_NAME = 80

# One line: control characters, and those that turn the direction of text, would spoil lists and terminals.
ONE_LINE = r"^[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]*$"
RunName = Annotated[str, StringConstraints(strip_whitespace=True, max_length=LONGEST_NAME, pattern=ONE_LINE)]
_NAME: TypeAdapter[str] = TypeAdapter(RunName)


def run_name(text: str) -> str:
    """The name without spaces at its ends; empty takes the name away. Raises SpecError."""
    try:
        return _NAME.validate_python(text)
    except ValidationError as error:
        raise SpecError(
            "name", f"name = {text!r}: expected one line of at most {LONGEST_NAME} characters"
        ) from error


def title_of(run_id: int, name: str) -> str:
    """What a run is called where it is talked about: `Run 7`, or `Run 7, before the upgrade`."""
    return f"Run {run_id}, {name}" if name else f"Run {run_id}"
