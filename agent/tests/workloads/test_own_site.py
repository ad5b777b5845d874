"""A learnt workload on the user's own files: what is there is asked for as it is, and nothing is written."""

import json
from contextlib import closing

import pytest
from trimtab_agent.errors import FileSetError, SpecError
from trimtab_agent.station.file_set import FileSet, document_root
from trimtab_agent.station.processes import unprivileged
from trimtab_agent.station.requirements import completed
from trimtab_agent.stopping import StopSignal
from trimtab_agent.study.own_file_report import in_words
from trimtab_agent.study.run_spec import RunSpec
from trimtab_agent.study.specification import check
from trimtab_agent.workloads.choice import make_workload, save_learnt, save_model
from trimtab_tuner.judging.job import TrialJob
from trimtab_tuner.workloads.learning import Learner
from trimtab_tuner.workloads.parameters import recorded_parameters

LINE = '10.0.0.1 - - [10/Oct/2023:13:55:{:02d} +0000] "GET {} HTTP/1.1" 200 {} "-" "x"\n'
ASKED = [
    ("/index.html", 700), ("/a/logo.png", 9000), ("/cart", 300), ("/a/logo.png", 9000), ("/index.html", 700)
]  # fmt: skip


@pytest.fixture
def own(tmp_path):
    """The folder of workloads, with one that was learnt of five requests for three files."""
    learner = Learner()
    for second, (path, size) in enumerate(ASKED):
        learner.line(LINE.format(second, path, size).encode())
    model, _ = learner.finish()
    folder = tmp_path / "workloads"
    save_learnt("shop", model, "", folder)
    return folder


@pytest.fixture
def site(tmp_path):
    """A document root with two of the files, in other sizes than were asked for then."""
    root = tmp_path / "www"
    (root / "a").mkdir(parents=True)
    (root / "index.html").write_text("<p>")
    (root / "a" / "logo.png").write_bytes(b"x" * 50)
    return root


@pytest.fixture
def spec(tmp_path, site):
    """A run with an nginx.conf and the site."""
    base = tmp_path / "nginx.conf"
    base.write_text(f"events {{}}\nhttp {{ server {{ listen 80; root {site}; }} }}\n")
    return RunSpec(target="nginx", base=str(base), workload="shop", site=str(site))


def everything_in(root):
    """Names, contents and times of all that lies there."""
    return {path: (path.stat().st_mtime_ns, path.is_file() and path.read_bytes()) for path in root.rglob("*")}


def test_what_is_there_is_asked_for_in_its_present_size(spec, own, site, tmp_path):
    """In the order of the log; what is not there is left out, and told before the run."""
    plan = check(spec, own)
    assert sorted(plan.workload.files()) == [("/a/logo.png", 50), ("/index.html", 3)]
    (session,) = plan.workload.sessions()
    assert [(each.path, each.size_bytes) for each in session] == [
        ("/index.html", 3), ("/a/logo.png", 50), ("/a/logo.png", 50), ("/index.html", 3)
    ]  # fmt: skip
    lines = in_words(plan.told())
    at = lines.index("What is asked of your site:")
    assert lines[at + 1 : at + 3] == [
        f"- served from {site} as they lie there, only read: 2 files, 0.0 MB",
        "- not there: 1 file that the workload asks for, /cart for one; 20.0 % of its requests are left out",
    ]


def test_all_trials_ask_for_the_same_and_nothing_is_written_below_the_directory(spec, own, site, tmp_path):
    """By what is recorded, whatever the log's own model says; a file that has changed ends the run."""
    before = everything_in(site)
    plan = check(spec, own)
    save_model(plan.site.model, own)
    parameters = recorded_parameters(json.loads(plan.parameters.model_dump_json()))
    workload = make_workload(parameters, own)
    assert list(workload.files()) == list(plan.workload.files())
    assert workload.sessions() == plan.workload.sessions()
    files = FileSet(tmp_path / "filesets", workload, parameters.site)
    with closing(StopSignal()) as stop:
        files.prepare(lambda _done, _total: None, stop)
        files.read_into_page_cache(stop)
    assert files.root == site == document_root(tmp_path / "filesets", workload, parameters.site)
    assert files.sessions.is_file()
    assert everything_in(site) == before
    (site / "index.html").write_text("<p>more")
    with pytest.raises(FileSetError, match=r"1 file of your site .* the first is .*www/index\.html"):
        files.require()


def test_files_that_not_everybody_may_read_are_named_for_the_server(spec, own, site, tmp_path, monkeypatch):
    """Or their folder; made files have none."""
    workload = check(spec, own).workload
    closed = {site / "a"}
    monkeypatch.setattr(unprivileged, "open_to_everyone", lambda path: path not in closed)
    assert FileSet(tmp_path, workload).guarded == ()
    assert FileSet(tmp_path, workload, str(site)).guarded == (site / "a",)
    closed.clear()
    assert FileSet(tmp_path, workload, str(site)).guarded == ()
    (site / "a" / "logo.png").chmod(0o640)
    assert FileSet(tmp_path, workload, str(site)).guarded == (site / "a" / "logo.png",)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"base": None}, "expected together with your own configuration file"),
        ({"workload": "specweb99"}, "specweb99 asks for files of its own making"),
        ({"start": "cold"}, "expected memory = unlimited and start = warm"),
        ({"memory": "in-memory"}, "expected memory = unlimited and start = warm"),
        ({"site": "www"}, "site = www: expected the absolute path of a directory"),
        ({"site": "/proc/self/none"}, "expected the absolute path of a directory"),
        ({"hosts": ("web1",)}, "expected no hosts"),
    ],
)
def test_what_makes_no_sense_is_refused(spec, own, changes, sentence):
    """In one sentence, with the field."""
    with pytest.raises(SpecError, match=sentence) as refusal:
        check(spec.model_copy(update=changes), own)
    assert refusal.value.field == "site"


def test_a_site_and_an_upstream_at_once_are_refused_with_both_ways_out(spec, own):
    """What a log says of programs is left out, so that nothing asks an upstream; other workloads have files
    of their own making.
    """
    both = spec.model_copy(update={"upstreams": {"app": "measured"}})
    said = r"upstream app: the workload shop .*; neither goes with --site"
    with pytest.raises(SpecError, match=said) as no:
        check(both, own)
    assert no.value.field == "upstreams"
    with pytest.raises(SpecError, match=r"site: the workload proxy asks for files of its own making"):
        check(spec.model_copy(update={"workload": "proxy"}), own)


def test_the_workload_of_another_site_is_refused(spec, own, site):
    """Of which hardly anything is there."""
    (site / "index.html").unlink()
    said = r"not there: 2 files of 3 .*, with 60\.0 % of its requests; the first is /index"
    with pytest.raises(SpecError, match=said):
        check(spec, own)


def test_a_job_of_somebody_else_has_no_directory_served(spec, own):
    """Whoever sends one may not read this machine's files by it."""
    plan = check(spec, own)
    job = TrialJob(
        target="nginx", workload=plan.parameters, ladder=(1.0,), rate_duration_s=1.0, timeout_s=1.0
    )
    with pytest.raises(SpecError, match=r"workload\.site: expected no directory of this machine"):
        completed(job, 1, lambda: None)


def test_parameters_without_a_site_are_recorded_as_before(spec, own):
    """Or no run would compare with those of an earlier version."""
    plan = check(spec.model_copy(update={"site": None}), own)
    assert "site" not in plan.parameters.model_dump(mode="json")
