"""A trial that asks for the files of the user's own directory: a real nginx serves them where they lie."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from trimtab_agent.base_file import read_base
from trimtab_agent.station.processes.programs import find_installed
from trimtab_agent.study.run_spec import RunSpec
from trimtab_agent.study.specification import check
from trimtab_agent.workloads.choice import save_learnt, save_model
from trimtab_trials.trial import Verdict
from trimtab_tuner.judging.job import TrialJob
from trimtab_tuner.judging.verification import Thresholds
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.editing import own_values
from trimtab_tuner.workloads.learning import Learner

pytestmark = pytest.mark.live

LINE = '10.0.0.{} - - [10/Oct/2023:13:{:02d}:{:02d} +0000] "GET {} HTTP/1.1" 200 {} "-" "x"\n'
FILES = {"/index.html": 700, "/a/logo.png": 9000, "/a/style.css": 2500}


@pytest.fixture
def site() -> Iterator[Path]:
    """A document root that every user may read, with a file more than is asked for."""
    directory = Path(tempfile.mkdtemp(prefix="site-"))
    (directory / "a").mkdir()
    for path, size in FILES.items():
        (directory / path[1:]).write_bytes(path.encode() * size)
    (directory / "other").write_text("other")
    for each in (directory, *directory.rglob("*")):
        each.chmod(0o755 if each.is_dir() else 0o644)
    yield directory
    shutil.rmtree(directory)


def test_files_of_the_directory_are_served_and_stay_as_they_are(station, settings, site, tmp_path):
    """In the sizes that they have now, not in those of the log; every reply is verified against these."""
    if find_installed("nginx") is None:
        pytest.skip("nginx is not installed")
    learner = Learner()
    for number in range(120):
        path, size = list(FILES.items())[number % len(FILES)]
        learner.line(LINE.format(number % 20, number // 60, number % 60, path, size).encode())
    model, _ = learner.finish()
    folder = settings.var / "workloads"
    save_learnt("shop", model, "", folder)
    nginx, file = TARGETS["nginx"], tmp_path / "nginx.conf"
    file.write_text(f"events {{}}\nhttp {{\n server {{ listen 80; root {site}; gzip on; }}\n}}\n")
    before = {
        path: (path.stat().st_mtime_ns, path.is_file() and path.read_bytes()) for path in site.rglob("*")
    }
    plan = check(RunSpec(target="nginx", base=str(file), workload="shop", site=str(site)), folder)
    save_model(plan.site.model, folder)
    base = read_base(nginx, file)
    report = station.carry_out(
        TrialJob(
            target="nginx",
            configuration=own_values(nginx, base.expanded, 1),
            base=base.expanded,
            workload=plan.parameters,
            ladder=(50.0, 100.0),
            rate_duration_s=1.0,
            warmup_s=0.2,
            timeout_s=2.0,
            thresholds=Thresholds(
                all_files_limit=1, size_limit=1, size_over_mean_limit=1, failures_limit=0.01
            ),
        )
    )
    assert report.verdict is Verdict.VERIFIED, report.reason
    assert f"root {site};" in report.server_config
    assert len(report.measurements) == 2
    for measured in report.measurements:
        mean_bytes = measured.goodput_mbps * 1e6 / 8 / measured.reply_rate_rps
        assert mean_bytes > max(FILES.values())  # the log's were smaller
    after = {
        path: (path.stat().st_mtime_ns, path.is_file() and path.read_bytes()) for path in site.rglob("*")
    }
    assert after == before
