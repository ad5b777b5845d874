"""A user's own files as they are handed back: with what was tuned, and nothing of the laboratory."""

import subprocess

import pytest
from trimtab_tuner.exports import ExportOrder, export_files
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import ExportEvidence, RenderContext, RenderError
from trimtab_tuner.targets.editing import own_values
from trimtab_tuner.targets.sources import Filling, recorded_sources, unmarked

MAIN = "/etc/nginx/nginx.conf"


def exported(tuned, base):
    """The files by format, for a run on the CPUs 3 and 5 that has tuned an nginx with this base so."""
    target = TARGETS["nginx"]
    default = own_values(target, base.whole, 2)
    about = {"run": "7", "date": "2026-01-02", "host": "x", "workload": "x", "objective": "x", "trials": 1}
    order = ExportOrder(
        target=target,
        space=target.space(cpus=2),
        configuration={**default, **tuned},
        context=RenderContext(
            root="/srv", listen=("127.0.0.1:80",), server_cpus=(3, 5), prefix="/x", error_log="/x/log"
        ),
        evidence=ExportEvidence(**about, default=default),
        base=base,
        expanded=base.whole,
    )
    return {file.format: file for file in export_files(order)}


def alone(text):
    """A file without includes."""
    return recorded_sources({"path": MAIN, "text": text})


def included(texts):
    """A main file with the included ones behind it, as they are read; by path."""
    (path, main), *others = texts.items()
    filling = Filling(path, main)
    inside = "".join(filling.file(other, text, text) for other, text in others)
    return filling.sources(main.replace("include conf.d/*;", filling.include("include conf.d/*;", inside)))


INCLUDED = {
    MAIN: "worker_processes 2;\nevents {}\nhttp { include conf.d/*; }\n",
    "/etc/nginx/conf.d/a.conf": "sendfile off; # mine",
    "/etc/nginx/conf.d/b.conf": "server {\r\n  listen 80;\r\n}\r\n",
}


def test_a_setting_is_changed_in_the_included_file_that_it_stands_in():
    """Options of listen too; every file keeps its other bytes, and the export has them as tree and patch."""
    base = included(INCLUDED)
    files = exported({"sendfile": "on", "backlog": 99}, base)
    assert files["nginx"].text == INCLUDED[MAIN]
    tree = {name: file.text for name, file in files.items() if name.startswith("tree-")}
    assert tree == {"tree-1": "sendfile on; # mine", "tree-2": "server {\r\n  listen 80 backlog=99;\r\n}\r\n"}
    assert files["tree-2"].file_name == "tree/etc/nginx/conf.d/b.conf"
    assert "--- a/etc/nginx/conf.d/a.conf\n+++ b/etc/nginx/conf.d/a.conf\n" in files["patch"].text
    assert "listen 80 backlog=99;\r\n" in files["patch"].text


def test_the_patch_makes_the_tree_of_the_files_as_they_were(tmp_path):
    """With patch(1), byte for byte: ends of lines, and a last line without one."""
    base = included(INCLUDED)
    files = exported({"sendfile": "on", "backlog": 99}, base)
    for path, text in INCLUDED.items():
        (tmp_path / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path[1:]).write_bytes(text.encode())
    patch = ["patch", "-p1", "--binary", "-d", str(tmp_path)]
    subprocess.run(patch, input=files["patch"].text.encode(), check=True, capture_output=True)
    for file in files.values():
        if file.file_name.startswith("tree/"):
            assert (tmp_path / file.file_name.removeprefix("tree/")).read_bytes() == file.text.encode()


@pytest.mark.parametrize(
    ("pinned", "workers", "kept"),
    [
        ("auto", 3, "worker_cpu_affinity auto;"),
        ("01 10", 1, "worker_cpu_affinity 01 10;"),
        ("01 10", 3, "worker_cpu_affinity auto;"),
        ("0011", 3, "worker_cpu_affinity 0011;"),
    ],
)
def test_cpus_of_the_measurement_never_get_into_a_users_own_file(pinned, workers, kept):
    """Where workers are pinned stays, but for masks that are too few; nor does systemd pin the server."""
    text = f"worker_processes 2;\nworker_cpu_affinity {pinned};\nevents {{}}\nhttp {{}}\n"
    files = exported({"worker_processes": workers}, alone(text))
    assert kept in files["nginx"].text
    assert "\nCPUAffinity=" not in files["systemd"].text
    assert f"worker_cpu_affinity {' '.join(['1000', '100000'][n % 2] for n in range(workers))};" in (
        files["nginx"].check.text
    )


def test_a_file_included_twice_is_changed_alike_or_refused():
    """It cannot be another in each place."""
    filling = Filling("/m", "x; include a; include a;")
    twice = "".join(filling.include("include a;", filling.file("/a", "b;", "b;")) for _ in range(2))
    sources = filling.sources(f"x; {twice}")
    assert sources.apart(sources.marked.replace("b;", "c;")) == {"/a": "c;", "/m": "x; include a;include a;"}
    with pytest.raises(RenderError, match="/a is included more than once"):
        sources.apart(sources.marked.replace("b;", "c;", 1))


def test_lines_of_the_whole_are_found_in_their_files():
    """By which a server's words on a line are told of the file that it stands in."""
    filling = Filling("/m", "one\ninclude a\nlast\n")
    inner = filling.include("include b", filling.file("/b", "deep", "deep"))
    a = filling.file("/a", "first\ninclude b\nthird\n", f"first\n{inner}\nthird\n")
    sources = filling.sources(f"one\n{filling.include('include a', a)}\nlast\n")
    wanted = {"one": ("/m", 1), "first": ("/a", 1), "deep": ("/b", 1), "third": ("/a", 3), "last": ("/m", 3)}
    lines = unmarked(sources.marked).splitlines()
    assert {line: sources.place(number) for number, line in enumerate(lines, 1) if line} == wanted
