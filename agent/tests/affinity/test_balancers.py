"""The real irqbalance is seen, told of, and asked to leave interrupts alone; without its moving any.

It runs in a mount namespace of its own in which /proc/irq is read-only, so that it can see the interrupts and
not move them; its directory for sockets is one of the test's.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from trimtab_agent.affinity import balancers as balancing
from trimtab_agent.affinity.balancers import (
    balancers,
    ban_interrupts,
    banned_interrupts,
    irqbalance_socket,
    unban_interrupts,
)
from trimtab_agent.terminal.commands import affinity

IN_A_NAMESPACE = """
mount --make-rprivate /
mount --bind /proc/irq /proc/irq
mount -o remount,bind,ro /proc/irq
mkdir -p "$0/run/irqbalance"
mount --bind "$0/run" /run
exec irqbalance --foreground
"""
IRQ = Path("/proc/irq")
pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(shutil.which("irqbalance") is None, reason="irqbalance is not installed"),
    pytest.mark.skipif(os.geteuid() != 0, reason="a mount namespace of its own needs root"),
]


def masks() -> dict[str, str]:
    """Where every interrupt may go."""
    return {path.parent.name: path.read_text() for path in IRQ.glob("[0-9]*/smp_affinity")}


@pytest.fixture
def irqbalance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, Path]]:
    """The running program: its process, and the directory of its socket. Nothing of it is left afterwards."""
    monkeypatch.setattr(balancing, "TIMEOUT_S", 30.0)  # a busy machine lets it wait
    directory, log, before = tmp_path / "run/irqbalance", tmp_path / "log", masks()
    directory.mkdir(parents=True)
    command = ["unshare", "--mount", "sh", "-ec", IN_A_NAMESPACE, str(tmp_path)]
    with log.open("w") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            while not answers(directory):
                with suppress(subprocess.TimeoutExpired):
                    process.wait(0.02)
                    said = log.read_text()
                    if "mount" in said or "unshare" in said:
                        pytest.skip(f"no mount namespace can be made here: {said.strip()}")
                    pytest.fail(f"irqbalance ended: {said}")
            yield process.pid, directory
        finally:
            process.terminate()
            process.wait(60)
    assert masks() == before


def answers(directory: Path) -> bool:
    """Whether its socket is there and is listened on."""
    path = irqbalance_socket([directory])
    if path is None:
        return False
    try:
        banned_interrupts(path)
    except OSError:
        return False
    return True


def test_irqbalance_is_seen_and_what_it_would_undo_is_told(irqbalance):
    """And that it can be asked not to, where it has a socket."""
    process, directory = irqbalance
    (found,) = [each for each in balancers([directory]) if each.pid == process]
    assert (found.name, found.can_ban) == ("irqbalance", True)
    assert "moves every interrupt that is not banned" in found.would_undo
    (found,) = [each for each in balancers([directory / "none"]) if each.pid == process]
    assert found.can_ban is False


def test_interrupts_are_banned_beside_those_that_are_and_the_ban_is_taken_back(irqbalance):
    """What somebody else has banned stays so."""
    path = irqbalance_socket([irqbalance[1]])
    numbers = sorted(int(name) for name in masks())[:3]
    assert banned_interrupts(path) == ()
    assert sorted(ban_interrupts(path, numbers[:1])) == numbers[:1]
    assert sorted(ban_interrupts(path, numbers[1:])) == numbers
    assert sorted(unban_interrupts(path, numbers[1:])) == numbers[:1]
    assert unban_interrupts(path, numbers) == ()


def test_the_command_line_bans_and_unbans_the_interrupts_among_the_settings(irqbalance, monkeypatch, capsys):
    """Steering masks have no interrupt, and irqbalance leaves them alone anyway."""
    path, (number, *_) = irqbalance_socket([irqbalance[1]]), map(int, masks())
    monkeypatch.setattr(affinity, "irqbalance_socket", lambda: path)
    settings = [f"/proc/irq/{number}/smp_affinity", "/sys/class/net/lo/queues/rx-0/rps_cpus"]
    affinity._ask_irqbalance(ban_interrupts, affinity._interrupts(settings))
    assert capsys.readouterr().err.endswith(f": {number}\n")
    affinity._ask_irqbalance(unban_interrupts, affinity._interrupts(settings))
    assert capsys.readouterr().err.endswith(": none\n")
