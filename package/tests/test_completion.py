"""What bash completes of the three programs, asked as bash asks: by the function of its completion file."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

COMPLETIONS = Path(__file__).resolve().parents[1] / "completions"
TRIMTAB = Path(sys.executable).parent / "trimtab"


def completed(program, line):
    """The words that bash offers at the end of `line`; readline makes = a word of its own."""
    words = shlex.split(line.replace("=", " = ")) + ([""] if line.endswith((" ", "=")) else [])
    words = ["=" if not word and line.endswith("=") else word for word in words]
    script = f"""
        compopt() {{ :; }}
        source {COMPLETIONS / program.name}.bash
        COMP_LINE={shlex.quote(line)} COMP_POINT={len(line)}
        COMP_WORDS=({" ".join(shlex.quote(word) for word in words)}) COMP_CWORD={len(words) - 1}
        {"_" + program.name.replace("-", "_")} {program}
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, timeout=120)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("trimtab-httpd --set archi", ["architecture="]),
        ("trimtab-httpd --set events=epoll", ["epoll", "epoll-et"]),
        ("trimtab-httpd --set sendfile=", ["nonblocking", "blocking", "off"]),
        ("trimtab-httpd --s", ["--set"]),
        ("trimtab-httpd --set header", []),
    ],
)
def test_trimtab_httpd_completes_options_keys_and_values(line, offered, programs):
    """From its own help."""
    assert completed(programs["trimtab-httpd"], line) == offered


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("trimtab-load ", ["open", "closed", "merge", "--help", "--version"]),
        ("trimtab-load open --conn", ["--connections", "--connect-timeout", "--connection"]),
    ],
)
def test_trimtab_load_completes_modes_and_options(line, offered, programs):
    """From its own help."""
    assert completed(programs["trimtab-load"], line) == offered


@pytest.mark.parametrize("option", ["--arrivals", "--http", "--connection", "--close", "--verify"])
def test_values_that_are_offered_are_those_that_trimtab_load_takes(option, programs):
    """It names them all when it refuses another."""
    refusal = subprocess.run(
        [programs["trimtab-load"], "open", option, "?"], capture_output=True, text=True, check=False
    ).stderr
    expected = refusal.split("expected ", 1)[1].split()
    offered = completed(programs["trimtab-load"], f"trimtab-load open {option} ")
    assert offered == [word for word in expected if word != "or"]


def test_trimtab_completes_its_commands():
    """By typer's own script, which asks the program."""
    asked = {"_TRIMTAB_COMPLETE": "complete_bash", "COMP_WORDS": "trimtab ca", "COMP_CWORD": "1"}
    done = subprocess.run(
        [TRIMTAB], env={**os.environ, **asked}, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.split() == ["capacity"]
