"""The servers' own checks of exported files leave nothing behind, whatever they say."""

import sys

import pytest
from trimtab_agent.station.processes.programs import find_installed
from trimtab_agent.station.server.checking import check_file
from trimtab_tuner.exports import Check
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderContext


@pytest.fixture(params=list(TARGETS))
def target(request, programs):
    """Each target whose server is installed here."""
    target = TARGETS[request.param]
    if target.package is not None and find_installed(target.program) is None:
        pytest.skip(f"{target.program} is not installed")
    return target


def exported(target, tmp_path):
    """A file of the target in a folder of exports, as an export names its places."""
    root, folder = tmp_path / "root", tmp_path / "exports"
    root.mkdir()
    folder.mkdir()
    (folder / "kept-before").mkdir()
    context = RenderContext(
        root=str(root),
        listen=("127.0.0.1:8000",),
        stats_socket=str(folder / "trimtab-httpd.sock"),
        server_cpus=(0,),
        prefix=str(folder),
        error_log=str(folder / "error.log"),
    )
    file = folder / target.file_name
    file.write_text(target.render(target.space(cpus=1).default(), context))
    return file


@pytest.mark.parametrize("sound", [True, False], ids=["accepted", "refused"])
def test_check_leaves_the_folder_as_it_was(target, tmp_path, programs, sound):
    """Neither log nor pid file nor directories for temporary files, also of a file that is refused."""
    file = exported(target, tmp_path)
    if not sound:
        file.write_text(file.read_text() + "\nno such thing here ;\n")
    check = Check(target.program, target.check_command)
    _, accepted, output = check_file(check, file, programs.httpd_path)
    assert accepted is sound, output
    assert {path.name for path in file.parent.rglob("*")} == {file.name, "kept-before"}


def test_check_that_is_cut_short_leaves_nothing_either(tmp_path, monkeypatch):
    """A server that hangs in its check is ended, and what it had made is gone."""
    monkeypatch.setattr("trimtab_agent.station.server.checking.CHECK_LIMIT_S", 2.0)
    file = tmp_path / "server.conf"
    file.write_text("")
    # One process: a child of a shell that was killed could go on and make something afterwards.
    code = f"import os, time; os.makedirs('{tmp_path}/a/b'); open('{tmp_path}/a/b/c', 'w'); time.sleep(60)"
    hangs = Check("sh", lambda *_: (sys.executable, "-c", code))
    _, accepted, output = check_file(hangs, file, tmp_path)
    assert (accepted, output.startswith("not checked: ")) == (False, True)
    assert list(tmp_path.iterdir()) == [file]
