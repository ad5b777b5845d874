"""What the tutorial shows of a file with TLS and a proxy is what the commands say of it."""

import re
import shutil
from pathlib import Path

import pytest
from trimtab_agent import checked_file
from trimtab_agent.kernel.reading import Kernel
from trimtab_agent.study.own_file_report import in_words
from trimtab_agent.study.run_spec import RunSpec
from trimtab_agent.study.specification import check
from trimtab_tuner.checking.machine import Descriptors, Machine

DOCS = Path(__file__).parents[3] / "docs"
HEADING = "Look at your file first"
EXAMPLE = "/tmp/shop"  # noqa: S108 - where the page has the reader copy it; the test does so elsewhere
GONE = {"127.0.0.1:9001": "nobody listens there"}
OPEN_FILES = 20_000  # of the machine on which the page was written


@pytest.fixture
def listings(tmp_path):
    """The listings of the section, with a directory of the test's own in place of that of the page."""
    section = (DOCS / "tutorial.md").read_text().partition(HEADING)[2].partition("\n## ")[0]
    found = re.findall(r"^```\w*\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert found[0] == f"cp -r docs/examples/shop {EXAMPLE}\n"
    shutil.copytree(DOCS / "examples" / "shop", tmp_path / "shop")
    return [listing.replace(EXAMPLE, str(tmp_path / "shop")) for listing in found]


def test_what_a_run_does_with_the_file_is_what_the_page_shows(listings, tmp_path):
    """Line for line, with the figures of the machine that it was written on."""
    assert listings[1].split()[-1] == "--dry-run"
    spec = RunSpec(target="nginx", base=str(tmp_path / "shop" / "nginx.conf"), workload="specweb99-tls")
    kernel = Kernel(here=(), lacking=(), no_tls="that machine's has not loaded it")
    told = check(spec, cpus=1, kernel=lambda: kernel).told(GONE, descriptors=OPEN_FILES)
    assert in_words(told) == listings[2].splitlines()


def test_what_contradicts_the_machine_is_what_the_page_shows(listings, tmp_path, command, monkeypatch):
    """With evidence and remedies."""
    tls = tmp_path / "shop" / "tls"
    machine = Machine(
        cpus=2.0,
        online=(0, 1),
        allowed=(0, 1),
        descriptors=Descriptors(OPEN_FILES, OPEN_FILES, "this process, as no nginx runs"),
        somaxconn=4096,
        unanswered=GONE,
        unreadable={str(tls / name): "there is no such file" for name in ("shop.crt", "shop.key")},
    )
    monkeypatch.setattr(checked_file, "machine_for", lambda *_: machine)
    assert listings[3].split()[:2] == ["trimtab", "check"]
    code, output, _ = command("check", str(tmp_path / "shop" / "nginx.conf"))
    assert (code, output) == (4, listings[4])
