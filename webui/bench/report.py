"""Times the web UI under a run of 10,000 trials and a day of samples; prints a section of the benchmarks.

`make bench` runs it. The daemon and the browser share the machine, as they do for whoever tunes one.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

WEBUI = Path(__file__).resolve().parents[1]
PORT = int(os.environ.get("TRIMTAB_BENCH_PORT", "8095"))
TRIALS = int(os.environ.get("TRIMTAB_BENCH_TRIALS", "10000"))
READY_S = 60


def await_ready() -> None:
    """Returns when the daemon answers."""
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{PORT}/api/v1/health", timeout=2).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise SystemExit("the daemon did not become ready")


def main() -> None:
    """Fills a database, starts a daemon on it, times the pages, prints the section."""
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(
            [sys.executable, WEBUI / "bench/large_run.py", directory, "--trials", str(TRIALS)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        program = Path(sys.executable).with_name("trimtab")
        daemon = subprocess.Popen(
            [program, "up", "--port", str(PORT), "--var", directory], stdout=subprocess.DEVNULL
        )
        try:
            await_ready()
            answer = subprocess.run(
                ["node", "bench/timings.mjs", f"http://127.0.0.1:{PORT}", "1"],
                cwd=WEBUI,
                check=True,
                capture_output=True,
                text=True,
            )
        finally:
            daemon.terminate()
            daemon.wait()
    times = json.loads(answer.stdout.splitlines()[-1])
    interactive = sorted(times["interactive_ms"])
    live = times["live"]
    print("## Web UI\n")
    print(
        f"{TRIALS:,} trials and 24 hours of samples in the database. "
        "The Run page is timed from the beginning of the navigation until a click on a trial is answered, "
        "the Live page by the script time of the main thread per chart redrawn.\n"
    )
    print("| what | figure | spread | aim |")
    print("| --- | ---: | --- | ---: |")
    print(
        f"| Scripts and styles that the first page loads, by gzip "
        f"| {times['first_load_bytes'] / 1000:.0f} kB | | 260 kB |"
    )
    print(
        f"| Run page: until a click on a trial is answered | {statistics.median(interactive):.0f} ms "
        f"| {interactive[0]:.0f} to {interactive[-1]:.0f} ms | 1000 ms |"
    )
    print(
        f"| Live page: script for each chart redrawn | {live['script_ms'] / max(1, live['draws']):.2f} ms "
        f"| {live['draws']} redraws | 4 ms |"
    )


if __name__ == "__main__":
    main()
