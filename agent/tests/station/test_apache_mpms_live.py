"""A trial of an apache2.conf for prefork or worker: measured with that MPM, and with all its processes."""

import pytest
from trimtab_agent.station.processes.programs import find_installed
from trimtab_agent.station.requirements import for_workload
from trimtab_trials.trial import Verdict
from trimtab_tuner.judging.job import TrialJob
from trimtab_tuner.judging.verification import Thresholds
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import space_of
from trimtab_tuner.targets.editing import own_values
from trimtab_tuner.workloads import WORKLOADS
from trimtab_tuner.workloads.parameters import parameters

pytestmark = pytest.mark.live

APACHE = TARGETS["apache"]
FILE = """\
Listen 80
LoadModule mpm_{0}_module /usr/lib/apache2/modules/mod_mpm_{0}.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
<IfModule mpm_prefork_module>
    StartServers 1
    MaxSpareServers 2
    MaxRequestWorkers 20
</IfModule>
<IfModule mpm_worker_module>
    StartServers 1
    ServerLimit 4
    ThreadsPerChild 5
    MaxRequestWorkers 10
</IfModule>
"""
TUNED = {"prefork": {"MaxRequestWorkers": 300}, "worker": {"MaxRequestWorkers": 100, "ThreadsPerChild": 80}}
WORKERS = {"prefork": 300, "worker": 80}


@pytest.mark.parametrize("workload", ["specweb99", "php"])
@pytest.mark.parametrize("mpm", TUNED)
def test_own_file_is_measured_with_its_mpm_and_all_its_processes_from_the_beginning(station, mpm, workload):
    """The server counts as many as were asked for, also above the limits of the file."""
    if find_installed(APACHE.program) is None:
        pytest.skip("apache2 is not installed")
    base, definition = FILE.format(mpm), WORKLOADS[workload].sized(1)
    own = own_values(APACHE, base, 1)
    space = for_workload(space_of(APACHE, own, 1).with_defaults(own), APACHE, definition)
    report = station.carry_out(
        TrialJob(
            target=APACHE.name,
            configuration={**space.default(), **TUNED[mpm]},
            base=APACHE.rooted(base, "/etc"),
            workload=parameters(definition, 0.02),
            ladder=(100.0, 200.0),
            rate_duration_s=2.0,
            warmup_s=0.2,
            timeout_s=5.0,
            thresholds=Thresholds(
                all_files_limit=1, size_limit=1, size_over_mean_limit=1, failures_limit=0.01
            ),
        )
    )
    assert report.verdict is Verdict.VERIFIED, report.reason
    assert f"LoadModule mpm_{mpm}_module" in report.server_config
    assert len(report.measurements) == 2
    # While the first rate begins, some still start.
    last = report.measurements[-1]
    workers = [last.counter("server", f"workers_{state}") for state in ("busy", "idle")]
    assert sum(workers) == pytest.approx(WORKERS[mpm]), workers
