"""`trimtab affinity` and `trimtab host` as a user types them."""

import json
import os
from pathlib import Path

import pytest
from trimtab_agent.host.lock import MachineLock

STEERING = Path("/sys/class/net/lo/queues/rx-0/rps_cpus")
writable = pytest.mark.skipif(
    not os.access(STEERING, os.W_OK), reason=f"{STEERING} cannot be written here: it needs root"
)


def document(trimtab, *arguments):
    """The JSON that a command prints, and its exit code."""
    code, output = trimtab(*arguments, "--json").finish()
    return code, json.loads(output)


@pytest.mark.kernel
@writable
def test_a_plan_is_applied_shown_and_put_back(trimtab):
    """plan touches nothing, apply does, status shows it, restore ends it."""
    before = STEERING.read_text()
    plan = ("interrupt", "--device", "lo", "--cpu", "0")
    code, planned = document(trimtab, "affinity", "plan", *plan)
    assert (code, planned["settings"][0]["state"], STEERING.read_text()) == (0, "planned", before)
    code, dry = document(trimtab, "affinity", "apply", *plan, "--dry-run")
    assert (code, dry["settings"][0]["state"], STEERING.read_text()) == (0, "planned", before)
    try:
        code, applied = document(trimtab, "affinity", "apply", *plan)
        assert (code, applied["settings"][0]["state"]) == (0, "applied")
        assert int(STEERING.read_text().replace(",", ""), 16) == 1
        code, status = document(trimtab, "affinity", "status")
        assert [line["path"] for line in status["settings"]] == [str(STEERING)]
    finally:
        code, lines = document(trimtab, "affinity", "restore")
    assert (code, [line["state"] for line in lines]) == (0, ["restored"])
    assert STEERING.read_text() == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("plan", "diagonal"), "expected one of none"),
        (("plan", "aligned", "--device", "nosuch0"), "not here"),
        (("plan", "aligned", "--device", "lo", "--device", "lo"), "named 2 times"),
        (("plan", "aligned", "--device", "lo", "--cpu", "4000"), "not online"),
        (("apply", "aligned", "--workers", "0"), "workers"),
    ],
)
def test_a_senseless_plan_is_refused_before_anything_is_touched(trimtab, arguments, words):
    """Exit code 2 and a sentence."""
    code, output = trimtab("affinity", *arguments).finish()
    assert code == 2
    assert words in output


def test_nobody_moves_interrupts_under_a_run(trimtab, settings):
    """While the machine's lock is held, apply and restore are a conflict; status still answers."""
    settings.var.mkdir(parents=True, exist_ok=True)
    lock = MachineLock(settings.machine_lock, settings.var)
    try:
        for command in (("apply", "none"), ("restore",)):
            code, _ = trimtab("affinity", *command).finish()
            assert code == 3
        assert trimtab("affinity", "status").finish()[0] == 0
    finally:
        lock.release()


def test_host_show_names_the_cpus_and_the_layout(trimtab):
    """For people and as JSON."""
    code, output = trimtab("host", "show").finish()
    assert code == 0
    assert "Layout: server" in output
    code, shown = document(trimtab, "host", "show")
    assert shown["topology"]["cpus"][0]["cpu"] == 0


def test_host_watch_prints_samples(trimtab):
    """As many as asked for, one a line with --json."""
    code, output = trimtab("host", "watch", "--count", "2", "--interval", "0.1", "--json").finish()
    assert code == 0
    samples = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    assert len(samples) == 2
    assert samples[0]["cpu"]["cpus"]
    code, output = trimtab("host", "watch", "--count", "1", "--interval", "0.1").finish()
    assert (code, "CPU time in percent" in output) == (0, True)
