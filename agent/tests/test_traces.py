"""The look at the end of the suite finds what is left behind."""

import os
import subprocess
import tempfile
from pathlib import Path

import traces


def anything(_path):
    """Every setting of the machine may be the suite's own."""
    return True


def nothing(_path):
    """None may."""
    return False


def test_whatever_is_left_behind_is_named(tmp_path):
    """A process, a temporary file, a control group and a namespace without owner, a mask, the own CPUs."""
    temporary, root = tmp_path / "tmp", tmp_path / "root"
    mask = root / "proc/irq/24/smp_affinity"
    groups = root / "sys/fs/cgroup/memory"
    namespaces = root / "run/netns"
    for directory in (temporary, mask.parent, groups, namespaces):
        directory.mkdir(parents=True)
    mask.write_text("f\n")
    before = traces.look("a-suite", temporary, root)
    assert traces.left_behind(before, before, anything) == []

    mask.write_text("1\n")
    (temporary / "trimtab-abc").mkdir()
    dead = subprocess.Popen(["true"])
    dead.wait()
    (groups / f"trimtab-{dead.pid}").mkdir()
    (namespaces / f"trimtab-{dead.pid}").touch()
    (namespaces / f"trimtab-{os.getpid()}").touch()  # somebody is still at work in this one
    allowed = os.sched_getaffinity(0)
    with subprocess.Popen(["sleep", "60"], env={**os.environ, traces.MARK: "a-suite"}) as process:
        os.sched_setaffinity(0, {min(allowed)})
        try:
            after = traces.look("a-suite", temporary, root)
            said = traces.left_behind(before, after, anything)
            said_of_one_that_changes_no_settings = traces.left_behind(before, after, nothing)
        finally:
            os.sched_setaffinity(0, allowed)
            process.kill()
    own = {
        f"process {process.pid} still runs: sleep 60",
        f"{temporary}/trimtab-abc is still there",
    }
    if len(allowed) > 1:
        own.add(f"this process was allowed {frozenset(allowed)} and is now {frozenset({min(allowed)})}")
    settings = {
        f"{groups}/trimtab-{dead.pid} is still there",
        f"{namespaces}/trimtab-{dead.pid} is still there",
        f"{mask} was f and is 1",
    }
    assert set(said) == own | settings
    assert set(said_of_one_that_changes_no_settings) == own


def test_temporary_files_of_the_suite_go_to_a_folder_of_its_own():
    """So that what others make on the same machine meanwhile is not taken for ours."""
    assert Path(tempfile.gettempdir()).name.startswith("tt-")
