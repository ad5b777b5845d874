"""How long it takes to apply, verify and restore 200 masks under the journal, on a device made for that.

The device is a virtual Ethernet pair with 200 receive queues that nothing is sent over; every mask is written
ahead to the journal of a real database, written, read back, and put back in the end. Needs root.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from trimtab_agent.host.identity import describe_host
from trimtab_agent.os_settings.access import DirectAccess
from trimtab_agent.os_settings.journal import Change, SettingsJournal
from trimtab_db import open_database, sqlite_url

MASKS = 200
ROUNDS = 5
DEVICE, PEER = "ttbench0", "ttbench1"


def main() -> None:
    """Prints the section."""
    print("## Masks\n")
    pair = ("ip", "link", "add", DEVICE, "numrxqueues", str(MASKS), "type", "veth", "peer", "name", PEER)
    made = subprocess.run(pair, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        print(f"Not measured: no device with {MASKS} queues can be made here ({made.stderr.strip()}).")
        return
    try:
        with tempfile.TemporaryDirectory() as temporary:
            repository = open_database(sqlite_url(Path(temporary) / "trimtab.db"))
            try:
                lines = repository.os_changes(repository.register_host(describe_host(Path(temporary))))
                rounds = [one_round(SettingsJournal(lines, DirectAccess())) for _ in range(ROUNDS)]
            finally:
                repository.close()
    finally:
        subprocess.run(("ip", "link", "delete", DEVICE), check=True)
    apply_s, verify_s, restore_s = (statistics.median(times) for times in zip(*rounds, strict=True))
    print(
        f"{MASKS} receive queues steered, each written to the journal first and read back; medians of "
        f"{ROUNDS} rounds.\n\n| step | time |\n| --- | --- |"
    )
    print(f"| apply and read back | {1000 * apply_s:.0f} ms |")
    print(f"| look for drift | {1000 * verify_s:.0f} ms |")
    print(f"| restore and read back | {1000 * restore_s:.0f} ms |")


def one_round(journal: SettingsJournal) -> tuple[float, float, float]:
    """Seconds to apply all masks, to look whether they still hold, and to put everything back."""
    changes = [
        Change(path=f"/sys/class/net/{DEVICE}/queues/rx-{queue}/rps_cpus", value="1", why="measured")
        for queue in range(MASKS)
    ]
    begun_s = time.perf_counter()
    applied = journal.apply(changes, by_hand=True)
    applied_s = time.perf_counter()
    drift = journal.drift()
    verified_s = time.perf_counter()
    restored = journal.restore()
    restored_s = time.perf_counter()
    if drift or {line.state for line in applied} != {"applied"} or len(restored) != MASKS:
        raise RuntimeError(f"not all of the masks were applied and restored: {applied}, {drift}, {restored}")
    return applied_s - begun_s, verified_s - applied_s, restored_s - verified_s


if __name__ == "__main__":
    main()
