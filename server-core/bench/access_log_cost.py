"""What the access log costs: CPU time per request of a 1 KB file with it and without, ours beside nginx's.

Both write the combined format to a file; nginx through a buffer of 64 KiB, for a line at a time would cost it
a system call each. Rounds with and without take turns, and a pair gives one ratio.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import report
import servers
from stats_cost import drive

ROUNDS = 9
NAMES = ("trimtab-httpd", "nginx")
LOGGED = "-logged"


def commands(folder: Path) -> dict[str, servers.Command]:
    """Each server by name, without a log and with one in that folder."""
    logs = {name: folder / f"{name}.log" for name in NAMES}
    knobs = {"architecture": "symped", "workers": 1}
    return {
        "trimtab-httpd": servers.core_with(**knobs),
        "trimtab-httpd" + LOGGED: servers.core_with(**knobs, access_log=logs["trimtab-httpd"]),
        "nginx": servers.nginx_with(),
        "nginx" + LOGGED: servers.nginx_with(
            site=f"access_log {logs['nginx']} combined buffer=64k flush=1s;"
        ),
    }


def main() -> None:
    """Measures all four in turns and prints the section."""
    spent_us: dict[str, list[float]] = {}
    with servers.folders() as (folder, root), contextlib.ExitStack() as stack:
        (root / "1k.bin").write_bytes(bytes(1024))
        running = {
            name: stack.enter_context(servers.running(name, folder / name, root, "/1k.bin", command))
            for name, command in commands(folder).items()
        }
        for server in running.values():
            drive(server)
        for _ in range(ROUNDS):
            for name, server in running.items():
                spent_us.setdefault(name, []).append(drive(server))
            for name in NAMES:
                os.truncate(folder / f"{name}.log", 0)
    rows = []
    for name in NAMES:
        without, logged = spent_us[name], spent_us[name + LOGGED]
        ratios = [b / a for a, b in zip(without, logged, strict=True)]
        rows.append([name, report.spread(without), report.spread(logged), report.spread(ratios)])
    print("## The access log\n")
    print(f"CPU time of a 1 KB reply, in {ROUNDS} pairs of rounds; wanted of trimtab-httpd: at most 1.10.\n")
    print(report.table(["server", "without, µs", "with a log, µs", "ratio"], rows))


if __name__ == "__main__":
    main()
