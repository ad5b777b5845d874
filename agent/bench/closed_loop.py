"""What a generator that is not ours gets from a server: wrk, which asks again as soon as it has an answer.

A closed loop has as many requests under way as connections and no pauses, so that it says what the server can
do with a few busy clients. An open loop with visitors who pause holds many more connections at the same rate.
So the two need not agree where connections are the limit, nor quite where each of them costs.
"""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

CONNECTIONS = 128
SECONDS = 10
MOST_PATHS = 20_000
SCRIPT = """local paths = {}
for line in io.lines("%s") do paths[#paths + 1] = line end
local at = 0
function request()
  at = at %% #paths + 1
  return wrk.format(nil, paths[at])
end
"""


def paths_of(sessions: Path) -> list[str]:
    """What the sessions ask for, in their order, as far as wrk is given it."""
    paths: list[str] = []
    with sessions.open() as lines:
        for line in lines:
            words = line.split()
            if words and words[0].startswith("/"):
                paths.append(words[0])
            if len(paths) == MOST_PATHS:
                break
    return paths


def asked_by_wrk(url: str, sessions: Path, folder: Path, cpus: Sequence[int]) -> float:
    """Requests/s of wrk over these sessions, on these CPUs; raises SystemExit if it was refused some."""
    paths, script = folder / "paths", folder / "paths.lua"
    paths.write_text("\n".join(paths_of(sessions)) + "\n")
    script.write_text(SCRIPT % paths)
    command = ["taskset", "-c", ",".join(map(str, cpus)), "wrk", f"-t{len(cpus)}", f"-c{CONNECTIONS}"]
    command += [f"-d{SECONDS}s", f"-s{script}", url.rstrip("/")]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.search(r"Requests/sec:\s+([\d.]+)", said)
    if found is None:
        raise SystemExit(f"wrk said nothing of requests: {said}")
    failed = re.search(r"Non-2xx or 3xx responses: (\d+)", said)
    asked = re.search(r"(\d+) requests in", said)
    if failed and asked and int(failed.group(1)) > 0.005 * int(asked.group(1)):
        raise SystemExit(f"wrk was refused {failed.group(1)} of {asked.group(1)} requests")
    return float(found.group(1))
