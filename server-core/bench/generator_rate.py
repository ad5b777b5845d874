"""How many requests a second one trimtab-load process offers, and how punctual it is.

Persistent sessions of 100 requests for a 1 KB file against trimtab-httpd on the other CPU, at
rising rates. The best rate is the highest one that was offered within 0.5 %, answered in full and
not called `generator-limited` by the generator itself.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import report
import servers

RATES_RPS = [10_000, 20_000, 30_000, 40_000, 50_000, 60_000, 70_000, 80_000]
DURATION_S = 4


def drive(server: servers.Server, rate_rps: int) -> dict[str, Any]:
    """One run of the generator at `rate_rps`; its result line."""
    command = [
        "taskset",
        "-c",
        str(servers.CLIENT_CPU),
        str(servers.LOAD),
        "open",
        "--url",
        server.url + "/1k.bin",
    ]
    command += [
        "--rate",
        str(rate_rps),
        "--duration",
        str(DURATION_S),
        "--session-requests",
        "100",
        "--timeout",
        "5",
    ]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    result: dict[str, Any] = json.loads(lines[-1])
    return result


def main() -> None:
    """Climbs the rates and prints the section."""
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        root = folder / "root"
        root.mkdir()
        (root / "1k.bin").write_bytes(bytes(1024))
        with servers.running("trimtab-httpd", folder / "server", root, "/1k.bin") as server:
            for rate_rps in RATES_RPS:
                result = drive(server, rate_rps)
                offered = result["requests"]["offered"]
                rows.append(
                    [
                        f"{rate_rps:,}",
                        f"{(offered / (rate_rps * DURATION_S) - 1) * 100:+.2f} %",
                        f"{result['requests']['replied'] / offered * 100:.2f} %",
                        f"{result['health']['lateness_p99_us'] / 1000:.2f}",
                        f"{result['health']['cpu_share'] * 100:.0f} %",
                        result["health"]["verdict"],
                    ]
                )
    print("## What the load generator can offer\n")
    print(
        "One trimtab-load process on one CPU, open loop, persistent sessions of 100 requests for a 1 KB "
        "file, "
        f"trimtab-httpd with one worker on another CPU, {DURATION_S} s per rate.\n"
    )
    head = [
        "requests/s asked",
        "offered",
        "replied",
        "arrival lateness p99, ms",
        "generator CPU",
        "its own verdict",
    ]
    print(report.table(head, rows))


if __name__ == "__main__":
    main()
