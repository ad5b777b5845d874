"""The look at the end of the suite finds what is left behind."""

import os
import subprocess
import tempfile
from pathlib import Path

import traces


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
    assert traces.left_behind(before, before) == []

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
            said = traces.left_behind(before, traces.look("a-suite", temporary, root))
        finally:
            os.sched_setaffinity(0, allowed)
            process.kill()
    expected = {
        f"process {process.pid} still runs: sleep 60",
        f"{temporary}/trimtab-abc is still there",
        f"{groups}/trimtab-{dead.pid} is still there",
        f"{namespaces}/trimtab-{dead.pid} is still there",
        f"{mask} was f and is 1",
    }
    if len(allowed) > 1:
        expected.add(f"this process was allowed {frozenset(allowed)} and is now {frozenset({min(allowed)})}")
    assert set(said) == expected


def test_temporary_files_of_the_suite_go_to_a_folder_of_its_own():
    """So that what others make on the same machine meanwhile is not taken for ours."""
    assert Path(tempfile.gettempdir()).name.startswith("tt-")
