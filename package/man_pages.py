"""Writes the man pages of trimtab, trimtab-httpd and trimtab-load into a directory.

    python package/man_pages.py DIRECTORY TRIMTAB_HTTPD TRIMTAB_LOAD

Options and what they do come from the programs' own help, so that a page never says anything else: of
trimtab from the tree of its commands, of the two others from what they print. What no help says, examples,
files and further reading, stands in PAGES below.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import typer
from trimtab_agent import __version__
from trimtab_agent.terminal.main import app

COMMAND_TIMEOUT_S = 30.0
OPTION = re.compile(r"^ +((?:-\w(?:, )?)?(?:--[\w-]+)?(?: [A-Z]\S*)?) +(\S.*)$")
KEY = re.compile(r"^  (\w+) +(\S.*)$")


@dataclass(frozen=True)
class Page:
    """What a page says beside the help: the line in indexes, examples with their sentences, files."""

    title: str
    examples: tuple[tuple[str, str], ...]
    files: tuple[tuple[str, str], ...]
    see_also: str


PAGES = {
    "trimtab": Page(
        "find the configuration at which a web server performs best",
        (
            ("trimtab tune --target nginx --base /etc/nginx/nginx.conf", "Tune nginx, from your own file."),
            ("trimtab capacity --target nginx", "How much load it takes as it is; two minutes."),
            ("trimtab show 1", "What run 1 has found, and why."),
            ("trimtab up", "The daemon, with the web UI on http://127.0.0.1:8080."),
        ),
        (
            ("/var/lib/trimtab", "Database, file sets, exports and logs of the daemon that systemd starts."),
            (
                "~/.local/share/trimtab",
                "The same of a user's own commands; TRIMTAB_VAR or --var name another.",
            ),
            ("/run/lock/trimtab.lock", "Held while something measures on this machine."),
        ),
        "trimtab-httpd(1), trimtab-load(1)",
    ),
    "trimtab-httpd": Page(
        "web server for static files whose architecture is a knob",
        (
            ("trimtab-httpd --set root=/srv/www --set listen=127.0.0.1:8000", "Serve a directory."),
            ("trimtab-httpd -t -c /etc/trimtab/httpd.conf", "Check a file; print what is effective."),
        ),
        (("/etc/trimtab/httpd.conf", "What the systemd unit trimtab-httpd.service serves."),),
        "trimtab(1), trimtab-load(1)",
    ),
    "trimtab-load": Page(
        "open-loop generator of HTTP load",
        (
            (
                "trimtab-load open --url http://127.0.0.1:8000/ --rate 1000 --duration 10 --text",
                "A thousand requests a second for ten seconds, whatever the server does.",
            ),
            (
                "trimtab-load closed --url http://127.0.0.1:8000/ --connections 50 --duration 10 --text",
                "Fifty connections that are always busy.",
            ),
        ),
        (),
        "trimtab(1), trimtab-httpd(1)",
    ),
}


def main() -> None:
    """Writes the three pages; raises CalledProcessError when a program does not print its help."""
    directory, httpd, load = (Path(argument) for argument in sys.argv[1:4])
    directory.mkdir(parents=True, exist_ok=True)
    bodies = {
        "trimtab": trimtab_body(),
        "trimtab-httpd": program_body(help_of(httpd)),
        "trimtab-load": program_body(help_of(load)),
    }
    for name, body in bodies.items():
        (directory / f"{name}.1").write_text(page(name, body))


def help_of(program: Path) -> str:
    """What `program --help` prints; raises CalledProcessError."""
    command = [str(program), "--help"]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=COMMAND_TIMEOUT_S
    ).stdout


def page(name: str, body: list[str]) -> str:
    """A whole page in roff, around its synopsis, description and options."""
    said = PAGES[name]
    lines = [
        f'.TH {name.upper()} 1 "" "Trimtab {__version__}" "User Commands"',
        ".SH NAME",
        f"{escaped(name)} \\- {escaped(said.title)}",
        *body,
        ".SH EXAMPLES",
    ]
    for command, sentence in said.examples:
        lines += [".TP", f".B {escaped(command)}", escaped(sentence)]
    if said.files:
        lines.append(".SH FILES")
    for path, sentence in said.files:
        lines += [".TP", f".I {escaped(path)}", escaped(sentence)]
    lines += [".SH SEE ALSO", escaped(said.see_also)]
    return "\n".join(filter(None, lines)) + "\n"


def trimtab_body() -> list[str]:
    """Synopsis, description and every command with its options, from typer's tree."""
    root = typer.main.get_command(app)
    context = typer.Context(root, info_name="trimtab")
    lines = [".SH SYNOPSIS", *usage(context)]
    lines += [".SH DESCRIPTION", escaped(root.help or ""), ".SH OPTIONS", *options(context)]
    lines.append(".SH COMMANDS")
    for command in commands(context):
        lines += [f'.SS "{escaped(command.command_path)}"', escaped(command.command.help or ""), ".PP"]
        lines += [*usage(command), *options(command)]
    return [*lines, ".SH EXIT STATUS", escaped(root.epilog or "")]


def commands(context: typer.Context) -> list[typer.Context]:
    """All commands beneath a group that do something, each with its group's name before it."""
    found: list[typer.Context] = []
    for name, command in getattr(context.command, "commands", {}).items():
        child = typer.Context(command, info_name=name, parent=context)
        found += commands(child) if hasattr(command, "commands") else [child]
    return found


def usage(context: typer.Context) -> list[str]:
    """How a command is called."""
    pieces = " ".join(context.command.collect_usage_pieces(context))
    return [f".B {escaped(context.command_path)}", escaped(pieces), ".br"]


def options(context: typer.Context) -> list[str]:
    """The options and arguments of a command."""
    lines = []
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            lines += item(*record)
    return lines


def program_body(text: str) -> list[str]:
    """Synopsis, description, options and keys out of the help that a C program prints."""
    head, *paragraphs = text.split("\n\n")
    calls = [line for line in head.splitlines() if "trimtab-" in line]
    said = [line for line in head.splitlines() if line not in calls]
    lines = [".SH SYNOPSIS", ".nf"]
    lines += [escaped(re.sub(r"^usage: ", "", call, flags=re.IGNORECASE)) for call in calls]
    lines += [".fi", ".SH DESCRIPTION", escaped(" ".join(said))]
    for paragraph in paragraphs:
        if paragraph.startswith(("Keys:", "In a section")):
            heading, *rest = paragraph.splitlines()
            lines += [".SH KEYS"] if heading == "Keys:" else [".PP", escaped(heading)]
            lines += keys(rest)
        elif paragraph.startswith(" "):
            lines += [".SH OPTIONS", *program_options(paragraph.splitlines())]
        else:
            said_before, _, codes = paragraph.partition("Exit codes: ")
            lines += [".SH EXIT STATUS", escaped(codes)] if codes else [escaped(said_before)]
    return lines


def program_options(lines: list[str]) -> list[str]:
    """One option a line; raises ValueError at a line that is none."""
    found: list[str] = []
    for line in filter(str.strip, lines):
        match = OPTION.match(line)
        if match is None:
            raise ValueError(f"no option: {line!r}; expected -o, --option VALUE and what it does")
        found += item(match[1], match[2])
    return found


def keys(lines: list[str]) -> list[str]:
    """A key and what it is for in one line, the values that it takes in the next."""
    found: list[str] = []
    for line in filter(str.strip, lines):
        match = KEY.match(line)
        found += item(match[1], match[2]) if match else [".br", escaped(line.strip())]
    return found


def item(name: str, text: str) -> list[str]:
    """A name with the text that explains it."""
    return [".TP", f".B {escaped(name)}", escaped(text) or "\\&"]


def escaped(text: str) -> str:
    """Plain text for roff: no sign that it would take for its own or does not know, no line break."""
    text = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    text = "".join(sign if sign.isascii() else f"\\[u{ord(sign):04X}]" for sign in text)
    return f"\\&{text}" if text.startswith((".", "'")) else text


if __name__ == "__main__":
    main()
