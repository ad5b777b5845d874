"""Commands are loaded when they are asked for: a check of a file need not load what a run needs."""

import json
import subprocess
import sys
from pathlib import Path

import typer
from trimtab_agent.terminal import commands, on_demand
from trimtab_agent.terminal.main import app

HEAVY = ("alembic", "distributed", "fastapi", "httpx", "scipy.special", "sklearn", "sqlalchemy")
PROGRAM = """
import json, sys
from trimtab_agent.terminal.main import main
try:
    main()
except SystemExit as end:
    print(json.dumps([end.code, sorted(sys.modules)]))
"""


def loaded_by(*arguments: str) -> tuple[int, set[str]]:
    """The exit code of a command in a process of its own, and the modules that it has loaded."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True
    )
    code, modules = json.loads(done.stdout.splitlines()[-1])
    return code, set(modules)


def test_check_loads_no_database_no_web_and_no_statistics(tmp_path):
    """They took four fifths of the time of a check."""
    file = tmp_path / "nginx.conf"
    file.write_text("events { worker_connections 9; }\n")
    code, modules = loaded_by("check", str(file))
    assert code in (0, 4)
    assert "trimtab_agent.terminal.commands.check" in modules
    assert not modules & {*HEAVY}
    assert "trimtab_agent.terminal.commands.tune" not in modules


def test_failure_of_the_database_is_still_one_sentence(command):
    """Its errors are loaded with it."""
    code, output, errors = command("show", "4")
    assert (code, output) == (2, "")
    assert errors.startswith("trimtab: There is no run 4.")


def test_each_command_is_found_in_its_module_and_each_module_is_named():
    """So that no new command is forgotten."""
    root = typer.main.get_command(app)
    assert {name: command.name for name, command in root.commands.items()} == {
        name: name for name in root.commands
    }
    found = {path.stem for path in Path(commands.__file__).parent.glob("*.py")}
    shared = {"__init__", "compare_files", "options", "starting"}
    assert found - shared == set(filter(None, on_demand.MODULES.values()))


def test_unknown_command_is_refused_with_the_one_that_is_meant(command):
    """Without loading any."""
    code, _, errors = command("chek")
    assert (code, "Did you mean 'check'?" in errors) == (2, True)
