"""What generators that are not ours get from a server: wrk and h2load, which ask again at each reply.

A closed loop has as many requests under way as connections and no pauses, so that it says what the server can
do with a few busy clients. An open loop with visitors who pause holds many more connections at the same rate.
So the two need not agree where connections are the limit, nor quite where each of them costs.

wrk speaks HTTP/1.1. Over TLS h2load (of nghttp2-client) is asked too where it is installed, over as many
connections: a second client of TLS, and one of HTTP/2 where that is what visitors speak. Each of its
connections asks for all paths from the first on; those of wrk share them out.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from trimtab_tuner.workloads.definition import Definition

INSTRUMENTS = ("wrk", "h2load")
CONNECTIONS = 128
SECONDS = 10
MOST_PATHS = 20_000
MOST_REFUSED = 0.005
SCRIPT = """local paths = {}
for line in io.lines("%s") do paths[#paths + 1] = line end
local at = 0
function request()
  at = at %% #paths + 1
  return wrk.format(nil, paths[at])
end
"""


def asked_in_a_closed_loop(
    definition: Definition, url: str, sessions: Path, folder: Path, cpus: Sequence[int]
) -> dict[str, float]:
    """Requests/s over these sessions on these CPUs, by each instrument that speaks what the workload does.

    Raises SystemExit if one of them was refused some.
    """
    if definition.protocol != "http":
        return {}
    paths = paths_of(sessions)
    asked = {}
    if definition.http2 is None:
        listed, script = folder / "paths", folder / "paths.lua"
        listed.write_text("\n".join(paths) + "\n")
        script.write_text(SCRIPT % listed)
        asked["wrk"] = said_by_wrk(_run(wrk_command(url, script, cpus), cpus))
    if definition.tls is not None and shutil.which("h2load") is None:
        print("h2load is not asked: install nghttp2-client (make packages-bench)", file=sys.stderr)
    elif definition.tls is not None:
        listed = folder / "addresses"
        listed.write_text("".join(f"{url.rstrip('/')}{path}\n" for path in paths))
        streams = None if definition.http2 is None else definition.http2.streams
        asked["h2load"] = said_by_h2load(_run(h2load_command(listed, cpus, streams), cpus))
    return asked


def paths_of(sessions: Path) -> list[str]:
    """What the sessions ask for, in their order, as far as the instruments are given it."""
    paths: list[str] = []
    with sessions.open() as lines:
        for line in lines:
            words = line.split()
            if words and words[0].startswith("/"):
                paths.append(words[0])
            if len(paths) == MOST_PATHS:
                break
    return paths


def wrk_command(url: str, script: Path, cpus: Sequence[int]) -> list[str]:
    """wrk over the paths that the script reads."""
    return ["wrk", f"-t{len(cpus)}", f"-c{CONNECTIONS}", f"-d{SECONDS}s", f"-s{script}", url.rstrip("/")]


def h2load_command(addresses: Path, cpus: Sequence[int], streams: int | None) -> list[str]:
    """h2load over a file of addresses: by HTTP/1.1, or with so many `streams` at once on a connection."""
    how = "--h1" if streams is None else f"-m{streams}"
    return ["h2load", how, f"-t{len(cpus)}", f"-c{CONNECTIONS}", f"-D{SECONDS}", f"-i{addresses}"]


def said_by_wrk(said: str) -> float:
    """Requests/s in what wrk has printed; raises SystemExit if it was refused some."""
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", said)
    asked = int(_number("wrk", r"(\d+) requests in", said))
    _check("wrk", int(refused.group(1)) if refused else 0, asked)
    return _number("wrk", r"Requests/sec:\s+([\d.]+)", said)


def said_by_h2load(said: str) -> float:
    """Requests/s in what h2load has printed; raises SystemExit if it was refused some."""
    failed = int(_number("h2load", r"(\d+) failed", said))
    _check("h2load", failed, failed + int(_number("h2load", r"(\d+) succeeded", said)))
    return _number("h2load", r"finished in \S+, ([\d.]+) req/s", said)


def _run(command: Sequence[str], cpus: Sequence[int]) -> str:
    pinned = ["taskset", "-c", ",".join(map(str, cpus)), *command]
    return subprocess.run(pinned, check=True, capture_output=True, text=True).stdout


def _number(instrument: str, pattern: str, said: str) -> float:
    found = re.search(pattern, said)
    if found is None:
        raise SystemExit(f"{instrument} said nothing of requests: {said[-500:]}")
    return float(found.group(1))


def _check(instrument: str, refused: int, asked: int) -> None:
    if refused > MOST_REFUSED * asked or not asked:
        raise SystemExit(f"{instrument} was refused {refused} of {asked} requests")
