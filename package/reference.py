"""Writes the reference pages of the documentation, of every command and every request of the REST API.

    python package/reference.py DIRECTORY

They are made from typer's tree of commands and from the OpenAPI document, so that they never say anything
else than the programs do.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from man_pages import commands
from trimtab_agent.api.openapi import document
from trimtab_agent.terminal.main import app
from trimtab_tuner.markdown import markdown_table

Schema = Mapping[str, Any]
SCHEMAS = "#/components/schemas/"
GROUPS = {
    "system": "The daemon",
    "host": "The machine and its masks",
    "catalogue": "What can be chosen",
    "runs": "Runs",
    "trials": "Trials",
    "exports": "Exported files",
    "live": "The live stream",
    "live tuning": "Live tuning",
    "fleet": "Several hosts",
}
"""The headings of the REST page, by the tags of the OpenAPI document."""
REST_INTRODUCTION = (
    "A running daemon has the OpenAPI document of this page at `/api/v1/openapi.json`. A request that fails "
    "gets an [ErrorBody](#errorbody). [Security](../security.md) says who may ask."
)


def main() -> None:
    """Writes the two pages."""
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "commands.md").write_text(commands_page())
    (directory / "rest.md").write_text(rest_page(json.loads(document())))


# --- the commands -------------------------------------------------------------------------------


def commands_page() -> str:
    """Every command with its options."""
    root = typer.main.get_command(app)
    context = typer.Context(root, info_name="trimtab")
    lines = [
        "# Commands",
        "",
        plain(root.help or ""),
        f"`trimtab COMMAND --help` says the same in the terminal. {plain(root.epilog or '')}",
        "",
    ]
    for command in commands(context):
        pieces = " ".join(command.command.collect_usage_pieces(command))
        lines += [f"## {command.command_path}", "", plain(command.command.help or ""), ""]
        lines += ["```", f"{command.command_path} {pieces}", "```", ""]
        records = [parameter.get_help_record(command) for parameter in command.command.get_params(command)]
        lines += table(
            ("option", "what it does"),
            [(code(record[0]), plain(record[1])) for record in records if record is not None],
        )
    return "\n".join(lines)


# --- the REST API -------------------------------------------------------------------------------


def rest_page(api: Schema) -> str:
    """Every operation under the heading of its tag, then the documents that are sent and received."""
    lines = ["# REST API", "", REST_INTRODUCTION, ""]
    operations = [
        (method, path, operation)
        for path, methods in api["paths"].items()
        for method, operation in methods.items()
    ]
    for tag, heading in GROUPS.items():
        lines += [f"## {heading}", ""]
        for method, path, operation in operations:
            if operation["tags"] == [tag]:
                lines += operation_section(method.upper(), path, operation)
    lines += ["## Documents", ""]
    for name, schema in sorted(api["components"]["schemas"].items()):
        lines += schema_section(name, schema)
    return "\n".join(lines)


def operation_section(method: str, path: str, operation: Schema) -> list[str]:
    """One request: what it does, its parameters, what is sent with it and what comes back."""
    lines = [f"### {code(f'{method} {path}')}", "", plain(operation["description"]), ""]
    lines += table(
        ("parameter", "in", "type", "what it is"),
        [
            (
                code(parameter["name"]) + (" (required)" if parameter["required"] else ""),
                parameter["in"],
                kind(parameter["schema"]),
                plain(parameter.get("description", "")),
            )
            for parameter in operation.get("parameters", ())
        ],
    )
    if (body := operation.get("requestBody")) is not None:
        lines += [f"Send: {contents(body)}.", ""]
    for status, reply in operation["responses"].items():
        if status.startswith("2"):
            lines += [f"Reply {status}: {contents(reply)}.", ""]
    return lines


def contents(message: Schema) -> str:
    """What a request or a reply carries, with its media type unless that is JSON."""
    found = []
    for media, content in message.get("content", {}).items():
        schema = content.get("schema") or content.get("itemSchema")
        told = kind(schema) if schema else ""
        found.append(told if media == "application/json" else f"{code(media)} {told}".rstrip())
    return " or ".join(found) or "nothing"


def schema_section(name: str, schema: Schema) -> list[str]:
    """One document with its fields, or the values that it may have."""
    lines = [f"### {name}", "", plain(schema.get("description", "")), ""]
    if "properties" not in schema:
        return [*lines, f"{kind(schema)}.".capitalize(), ""]
    required = schema.get("required", ())
    rows = []
    for field, inner in schema["properties"].items():
        notes = [plain(inner["description"])] if "description" in inner else []
        notes += ["Required."] if field in required else []
        notes += [f"Default: {code(json.dumps(inner['default']))}."] if "default" in inner else []
        rows.append((code(field), kind(inner), " ".join(notes)))
    return [*lines, *table(("field", "type", "what it is"), rows)]


def kind(schema: Schema) -> str:
    """The type that a schema allows, in words; names of documents are links."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(SCHEMAS)
        return f"[{name}](#{name.lower()})"
    if "const" in schema:
        return code(json.dumps(schema["const"]))
    if "enum" in schema:
        return ", ".join(code(json.dumps(value)) for value in schema["enum"])
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(kind(inner) for inner in schema[several]))
    if schema.get("type") == "array":
        items = schema.get("items") or {"anyOf": schema.get("prefixItems", ())}
        return f"list of {kind(items) or 'anything'}"
    values = schema.get("additionalProperties")
    if schema.get("type") == "object" and isinstance(values, Mapping) and values:
        return f"table of {kind(values)}"
    return str(schema.get("format") or schema.get("type") or "anything") + bounds(schema)


def bounds(schema: Schema) -> str:
    """The limits of a number or a text, in brackets."""
    words = {
        "minimum": "at least",
        "exclusiveMinimum": "more than",
        "maximum": "at most",
        "exclusiveMaximum": "less than",
        "maxLength": "at most so many characters:",
    }
    told = [f"{word} {schema[name]}" for name, word in words.items() if name in schema]
    return f" ({', '.join(told)})" if told else ""


# --- Markdown -----------------------------------------------------------------------------------


def table(headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """A table with a blank line after it; nothing without rows."""
    if not rows:
        return []
    return [markdown_table(headings, rows), ""]


def code(text: str) -> str:
    """Text as it is typed."""
    return f"`{text}`"


def plain(text: str) -> str:
    """A docstring in one line; outside of `…`, what Markdown would take for its own signs is escaped."""
    pieces = re.split(r"(`[^`]*`)", " ".join(text.split()).replace("``", "`"))
    return "".join(
        piece if piece.startswith("`") else re.sub(r"([\\*_\[\]])", r"\\\1", piece).replace("<", "&lt;")
        for piece in pieces
    )


if __name__ == "__main__":
    main()
