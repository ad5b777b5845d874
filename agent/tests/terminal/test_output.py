"""What the commands write where there is no terminal, and where nothing can be written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from trimtab_agent.terminal.commands.options import console_for

SENTENCE = " ".join(["word"] * 400)


@pytest.fixture
def command(tmp_path):
    """Runs a command in a process of its own, with its output to a file."""

    def run(output, *arguments, **environment):
        return subprocess.run(
            [sys.executable, "-m", "trimtab_agent.terminal.main", *arguments],
            env={"TRIMTAB_VAR": str(tmp_path), **environment},
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    return run


def test_sentence_is_one_line_in_a_pipe(capsys, monkeypatch):
    """Whoever searches for it finds it."""
    monkeypatch.delenv("COLUMNS", raising=False)
    console_for().print(SENTENCE)
    assert capsys.readouterr().out == f"{SENTENCE}\n"


def test_columns_that_are_asked_for_are_obeyed(capsys, monkeypatch):
    """Without a terminal too."""
    monkeypatch.setenv("COLUMNS", "60")
    console_for().print(SENTENCE)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60
    assert " ".join(map(str.strip, lines)) == SENTENCE


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [("runs",), ("runs", "--json"), ("--version",), ("show", "--help")])
def test_full_disk_is_one_sentence(command, arguments, unbuffered):
    """Whether what is written goes through the console or not, and through a buffer or not."""
    with Path("/dev/full").open("w") as full:
        done = command(full, *arguments, PYTHONUNBUFFERED=unbuffered)
    sentence = "trimtab: the output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, sentence)


def test_reader_that_has_seen_enough_is_no_trouble(command):
    """As with `| head`."""
    reading, writing = os.pipe()
    os.close(reading)
    done = command(writing, "runs", "--json")
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_name_of_a_file_that_is_no_text_is_shown_all_the_same(command, tmp_path):
    """Terminals of most locales take nothing but text."""
    file = tmp_path / os.fsdecode(b"caf\xe9.conf")
    file.write_text("events {}\nhttp { server { listen 80; root /srv; } }\n")
    done = command(subprocess.PIPE, "check", str(file), "--target=nginx", PYTHONIOENCODING="utf-8:strict")
    assert done.stderr == ""
    assert "caf\\udce9.conf" in done.stdout
