"""The programs are hardened as those of Debian's packages are."""

import subprocess

import pytest


def said_of(program, *options):
    """What readelf says of a program."""
    return subprocess.run(
        ["readelf", "--wide", *options, program], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("name", ["trimtab-httpd", "trimtab-load", "trimtab-upstream"])
def test_program_is_hardened(name, programs):
    """Position-independent, bound at the start, stack protected, copies checked, no executable stack."""
    program = programs[name]
    assert "DYN (Position-Independent Executable file)" in said_of(program, "--file-header")
    assert "BIND_NOW" in said_of(program, "--dynamic")
    segments = said_of(program, "--program-headers")
    assert "GNU_RELRO" in segments
    assert "GNU_STACK" in segments
    assert "RWE" not in segments
    symbols = said_of(program, "--dyn-syms")
    assert "__stack_chk_fail" in symbols
    assert "_chk@" in symbols
