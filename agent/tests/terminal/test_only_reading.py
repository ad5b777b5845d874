"""Commands that only read leave no directory and no database behind, and say where there is nothing."""

import sys

import pytest
from trimtab_agent.host import identity
from trimtab_agent.terminal.main import main

RECORDED = (
    ("runs",),
    ("show", "1"),
    ("name", "1", "one"),
    ("archive", "1"),
    ("export", "1"),
    ("delete", "1", "--yes"),
    ("compare", "1", "2"),
    ("replay", "--from-run", "1"),
    ("fleet", "forget", "web1"),
    ("live", "status"),
    ("live", "promote"),
    ("live", "reject"),
    ("live", "detach"),
    ("affinity", "status"),
    ("affinity", "restore"),
    ("affinity", "restore", "--dry-run"),
)
"""Those that need what has been recorded."""
UNRECORDED = (
    ("fleet", "status"),
    ("fleet", "drain", "web1"),
    ("affinity", "plan", "none"),
    ("affinity", "apply", "none", "--dry-run"),
    ("workload", "list"),
    ("workload", "show", "specweb99"),
)
"""Those that can do without."""


@pytest.fixture
def trimtab_without(monkeypatch, capfd, tmp_path):
    """The command line in this process, whose own directory is not there; exit code, output, errors."""
    monkeypatch.setenv("TRIMTAB_VAR", str(tmp_path / "own"))

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["trimtab", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        output, errors = capfd.readouterr()
        return int(end.value.code or 0), output, errors

    yield run
    assert not (tmp_path / "own").exists()


@pytest.mark.parametrize("command", RECORDED + UNRECORDED, ids=" ".join)
def test_directory_that_is_named_and_not_there_is_told_and_not_made(trimtab_without, tmp_path, command):
    """A misspelt one would be made, and would hold no runs."""
    lost = tmp_path / "misspelt" / "var"
    said = trimtab_without(*command, "--var", str(lost))
    assert said == (2, "", f"trimtab: there is nothing at {lost}: no such directory\n")
    assert not lost.parent.exists()


@pytest.mark.parametrize("command", RECORDED, ids=" ".join)
def test_directory_that_is_named_and_holds_no_database_is_told_and_left_as_it_was(
    trimtab_without, tmp_path, command
):
    """It is somebody else's, or one too high or too low."""
    code, output, errors = trimtab_without(*command, "--var", str(tmp_path))
    assert (code, output) == (2, "")
    where = f"there is nothing at {tmp_path}: no database of Trimtab's is in that directory"
    assert errors == f"trimtab: {where}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("runs",), "There are no runs"),
        (("live", "status"), "attached to no server"),
        (("affinity", "plan", "none"), "none: workers wherever the scheduler puts them"),
        (("affinity", "status"), "Nothing is in force"),
        (("affinity", "restore"), "Nothing was in force."),
        (("fleet", "status"), "this machine is no member of a fleet"),
        (("workload", "list"), "specweb99"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_directory_that_is_not_named_need_not_be_there(trimtab_without, command, told):
    """As in a fresh checkout, where nothing has been recorded yet; none is made either."""
    code, output, _ = trimtab_without(*command)
    assert (code, told in output) == (0, True)


@pytest.mark.parametrize("machine_id", ["/etc/machine-id", "none"])
def test_trying_a_run_out_makes_no_directory(trimtab_without, tmp_path, monkeypatch, machine_id):
    """`--dry-run` says what would be, of a server that is here in any checkout; on a machine without an id,
    as a container is, it keeps none.
    """
    monkeypatch.setattr(identity, "MACHINE_ID", tmp_path / machine_id)
    (tmp_path / "own.ini").write_text(f"[server]\nroot = {tmp_path}\nlisten = 127.0.0.1:8081\n")
    code, output, errors = trimtab_without(
        "tune", "--base", str(tmp_path / "own.ini"), "--dry-run", "--var", str(tmp_path / "new")
    )
    assert (code, errors) == (0, "")
    assert "What is measured is your file, but for this" in output
    assert not (tmp_path / "new").exists()
