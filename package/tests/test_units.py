"""The systemd units are valid, and name what the package installs."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

SYSTEMD = Path(__file__).resolve().parents[1] / "systemd"
SERVICES = sorted(SYSTEMD.glob("*.service"))


@pytest.mark.parametrize("unit", [*SERVICES, *SYSTEMD.glob("*.socket")], ids=lambda unit: unit.name)
def test_unit_is_valid(unit, tmp_path):
    """systemd has nothing to complain of but that nothing is installed, which `true` stands in for."""
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    for each in SYSTEMD.iterdir():  # a socket wants its service beside it
        (tmp_path / each.name).write_text(re.sub(r"/usr/bin/trimtab\S*", "/bin/true", each.read_text()))
    copy = tmp_path / unit.name
    done = subprocess.run(
        [analyze, "verify", "--man=no", copy], capture_output=True, text=True, check=False, timeout=120
    )
    said = [line for line in done.stderr.splitlines() if unit.name in line]
    assert (done.returncode, said) == (0, [])


@pytest.mark.parametrize("unit", SERVICES, ids=lambda unit: unit.stem)
def test_unit_gives_its_program_few_rights(unit):
    """Not root, nothing to write to but what is named."""
    lines = unit.read_text().splitlines()
    assert {"NoNewPrivileges=yes", "ProtectSystem=strict"} <= set(lines)
    assert "User=trimtab" in lines or "DynamicUser=yes" in lines


def test_socket_is_at_the_address_that_the_configuration_names():
    """A socket that `listen` does not have is refused by the server."""
    configuration = (SYSTEMD.parent / "httpd.conf").read_text()
    stream = re.search(r"^ListenStream=(.*)$", (SYSTEMD / "trimtab-httpd.socket").read_text(), re.MULTILINE)
    assert f"listen = {stream[1]}\n" in configuration
