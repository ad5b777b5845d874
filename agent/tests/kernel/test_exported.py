"""The exported file for sysctl does what it says: the real program takes it, and so does the kernel."""

import os
import subprocess

import pytest
from trimtab_agent.kernel.reading import read_kernel
from trimtab_agent.os_settings.access import DirectAccess
from trimtab_tuner.exports import ExportOrder, export_files
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import ExportEvidence, RenderContext
from trimtab_tuner.targets.kernel import kernel_knob, with_kernel

pytestmark = pytest.mark.kernel

TUNED = {
    "somaxconn": 1234,
    "tcp_max_syn_backlog": 777,
    "tcp_rmem_max": 1 << 20,
    "tcp_wmem_default": 32_768,
    "tcp_notsent_lowat": 65_536,
    "tcp_fin_timeout": 17,
    "tcp_tw_reuse": 1,
    "tcp_autocorking": 0,
    "tcp_congestion_control": "reno",
}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make a network namespace")
def test_sysctl_takes_the_exported_file_and_the_kernel_has_what_it_says(tmp_path):
    """In a network namespace of its own, so that nothing of this machine changes."""
    target, here = TARGETS["nginx"], read_kernel(DirectAccess()).knobs()
    here = [knob for knob in here if knob.scope == "namespace"]
    space = with_kernel(target.space(cpus=2), here, free=TUNED)
    tuned = {name: value for name, value in TUNED.items() if name in {knob.name for knob in here}}
    if not tuned:
        pytest.skip("no knob of the kernel can be set here")
    order = ExportOrder(
        target=target,
        space=space,
        configuration={**space.default(), **tuned},
        context=RenderContext(root="/srv/www", listen=("127.0.0.1:8000",)),
        evidence=ExportEvidence(
            run="1",
            date="2026-01-02",
            host="here",
            workload="specweb99",
            objective="peak",
            trials=1,
            default=space.default(),
        ),
    )
    file = tmp_path / "90-trimtab.conf"
    file.write_text(next(each.text for each in export_files(order) if each.format == "sysctl"))
    files = [kernel_knob(name).path for name in tuned]
    done = subprocess.run(
        ("unshare", "--net", "sh", "-ec", 'sysctl -q -p "$0"; for f; do cat "$f"; done', str(file), *files),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    held = dict(zip(tuned, done.stdout.splitlines(), strict=True))
    assert {name: kernel_knob(name).value_in(" ".join(text.split())) for name, text in held.items()} == tuned
