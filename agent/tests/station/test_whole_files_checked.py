"""Files as people run them are measured whole, and handed back with nothing changed but what was tuned.

Each server only checks the files here; that they are served as before is asked of servers that run, in
`test_whole_files.py`.
"""

import difflib
import os
import subprocess
from pathlib import Path

import pytest
import whole_files
from trimtab_agent.base_file import read_base
from trimtab_agent.station.own_file_check import require_measurable
from trimtab_agent.station.processes.programs import find_installed
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderContext, space_of
from trimtab_tuner.targets.editing import own_values
from trimtab_tuner.targets.private import named_in

CPUS = tuple(sorted(os.sched_getaffinity(0)))[:1]
WORDS = {"PORT": 18080, "TLS": 18443, "BACKEND": 18081}
CASES = [
    (name, case)
    for name in ("nginx", "apache", "lighttpd", "h2o")
    for case in ("default", "tls", "proxy", "php")
]
CASES += [("apache", "prefork"), ("apache", "worker")]


@pytest.fixture
def base(request, tmp_path):
    """The target, its program, and the file that lies there with what it includes."""
    name, case = request.param
    target = TARGETS[name]
    program = find_installed(target.program)
    if program is None:
        pytest.skip(f"{target.program} is not installed")
    (tmp_path / "run").mkdir()
    whole_files.written(tmp_path, name, case, {**WORDS, "DIR": tmp_path})
    return target, program, read_base(target, tmp_path / target.file_name, with_commands=True)


@pytest.mark.parametrize("base", CASES, indirect=True, ids="-".join)
def test_private_instance_is_accepted_by_the_server_and_names_what_differs(base):
    """Read as the server reads it, every address in it one of the instance's own."""
    target, program, file = base
    own = own_values(target, file.expanded, 1)
    require_measurable(target, file, own, CPUS, program)
    context = RenderContext(root="/srv", listen=("127.0.0.1:18090",), prefix="/x", server_cpus=CPUS)
    private = target.private(file.expanded, own, (), context)
    assert named_in(private)
    for address in (f"127.0.0.1:{WORDS['PORT']}", f"127.0.0.1:{WORDS['TLS']}"):
        gone = [line for line in private.splitlines() if address in line and not line.startswith("#")]
        assert not gone, gone


@pytest.mark.parametrize("base", CASES, indirect=True, ids="-".join)
def test_file_that_is_handed_back_differs_in_the_tuned_lines_alone_and_is_accepted(base):
    """In whichever file they stand: each line that is gone or new names a knob that was tuned."""
    target, program, file = base
    own = own_values(target, file.expanded, 1)
    tuned = {
        knob.name: value + 1
        for knob in space_of(target, own, 1).free
        if isinstance(value := own[knob.name], int)
        and not isinstance(value, bool)
        and knob.name != "server.max-worker"
    }
    assert tuned
    context = RenderContext(root="/srv", listen=("127.0.0.1:80",), server_cpus=CPUS)
    changed = target.changed(file.sources.marked, {**own, **tuned}, tuple(tuned), context)
    parts = file.sources.apart(changed)
    # Limits of Apache's that go with what was tuned.
    names = {*tuned, "ThreadLimit", "MaxRequestWorkers", "StartServers", "MaxSpareThreads", "MaxSpareServers"}
    names |= {"MaxClients"} if "MaxClients" in file.expanded else set()
    for path, text in file.sources.files:
        for line in difflib.ndiff(text.splitlines(), parts[path].splitlines()):
            if line[:2] in ("- ", "+ ") and line[2:].strip():
                assert any(name in line for name in names), (path, line)
    assert changed != file.sources.marked
    for path, text in parts.items():
        if Path(path).is_file():  # and not what a command has printed
            Path(path).write_text(text, newline="")
    checked = subprocess.run(target.check_command(file.path, str(program)), capture_output=True)
    assert checked.returncode == 0, checked.stderr.decode()
    again = own_values(target, read_base(target, Path(file.path), with_commands=True).expanded, 1)
    assert {name: again[name] for name in tuned} == tuned
