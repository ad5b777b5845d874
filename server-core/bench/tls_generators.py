"""trimtab-load beside h2load and wrk: HTTP/1.1 over TLS, HTTP/2 over TLS, HTTP/2 without; the same nginx.

Prints the page docs/lab/tls.md, in six minutes. One CPU serves, the other asks. Connections are kept, and
each asks again as soon as it has its reply; over HTTP/2 each keeps several streams under way. In each round
all generators drive, in random order, and ratios are taken within the round.

    tls_generators.py [--rounds N] [--seconds S]
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import report
import servers
from generator_rate import CONNECTIONS, drive
from trimtab_agent.station.server.certificates import make_certificates
from trimtab_agent.station.server.ports import HeldPorts
from trimtab_tuner.targets import tls

CIPHER = "TLS_AES_128_GCM_SHA256"
SIZES_BYTES = (1_024, 16_384)
STREAMS = 10
WANTED_RATIO = 0.03

Driven = tuple[float, float]
"""Requests a second, and CPU microseconds of the generator a request."""


@dataclass(frozen=True)
class Case:
    """A way to ask; `http` is the version, as trimtab-load calls it."""

    name: str
    secure: bool
    http: str
    others: tuple[str, ...]


CASES = (
    Case("HTTP/1.1 over TLS", True, "1.1", ("h2load", "wrk")),
    Case(f"HTTP/2 over TLS, {STREAMS} streams a connection", True, "2", ("h2load",)),
    Case(f"HTTP/2 without TLS, {STREAMS} streams a connection", False, "2", ("h2load",)),
)


def of_ours(case: Case, url: str, seconds: int) -> Driven:
    """trimtab-load in a closed loop. Raises RuntimeError for a request that failed."""
    done = drive(
        str(servers.LOAD),
        *("closed", f"--url={url}", f"--connections={CONNECTIONS}", f"--duration={seconds}"),
        f"--http={case.http}",
        *((f"--streams={STREAMS}",) if case.http == "2" else ()),
        *(("--tls-version=1.3", f"--tls-ciphers={CIPHER}") if case.secure else ()),
    )
    result = done.result()
    if result["failures"]:
        raise RuntimeError(f"trimtab-load: {result['failures']}")
    return result["reply_rate_rps"], done.cpu_s * 1e6 / result["requests"]["replied"]


def of_h2load(case: Case, url: str, seconds: int) -> Driven:
    """The same of h2load. Raises RuntimeError for a request that failed."""
    how = ("--h1",) if case.http == "1.1" else (f"-m{STREAMS}",)
    done = drive(
        *("h2load", *how, "-t1", f"-c{CONNECTIONS}", f"-D{seconds}", f"--tls13-ciphers={CIPHER}", url)
    )
    if done.number(r"(\d+) failed") or (case.secure and CIPHER not in done.text):
        raise RuntimeError(f"h2load: {done.text[-500:]}")
    return done.number(r"([\d.]+) req/s"), done.cpu_s * 1e6 / done.number(r"(\d+) succeeded")


def of_wrk(_case: Case, url: str, seconds: int) -> Driven:
    """The same of wrk, which leaves the cipher to the server. Raises RuntimeError for a failed request."""
    done = drive("wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", url)
    if "Non-2xx" in done.text or "Socket errors" in done.text:
        raise RuntimeError(f"wrk: {done.text[-500:]}")
    return done.number(r"Requests/sec:\s+([\d.]+)"), done.cpu_s * 1e6 / done.number(r"(\d+) requests in")


GENERATORS: dict[str, Callable[[Case, str, int], Driven]] = {
    "trimtab-load": of_ours,
    "h2load": of_h2load,
    "wrk": of_wrk,
}


def measured(case: Case, url: str, rounds: int, seconds: int) -> dict[str, list[Driven]]:
    """By generator: what each round has shown."""
    done: dict[str, list[Driven]] = {name: [] for name in ("trimtab-load", *case.others)}
    for _ in range(rounds):
        for name in random.sample(sorted(done), len(done)):
            done[name].append(GENERATORS[name](case, url, seconds))
    return done


def section(case: Case, size_bytes: int, done: dict[str, list[Driven]]) -> str:
    """The table of one way to ask and one size of file."""
    ours = done["trimtab-load"]
    rows = []
    for name, rounds in done.items():
        pairs = list(zip(ours, rounds, strict=True))
        beside = ("", "")
        if name != "trimtab-load":
            beside = (
                report.spread([a[0] / b[0] for a, b in pairs], 3),
                report.spread([a[1] / b[1] for a, b in pairs], 3),
            )
        rows.append(
            [
                name,
                report.spread([rate for rate, _ in rounds], 0),
                beside[0],
                report.spread([cpu for _, cpu in rounds], 2),
                beside[1],
            ]
        )
    wanted = f"{1 - WANTED_RATIO:g}–{1 + WANTED_RATIO:g}"
    head = [
        "",
        "requests/s",
        f"trimtab-load to it (wanted: {wanted})",
        "generator's CPU µs/request",
        "trimtab-load to it (wanted: at most 1)",
    ]
    return f"## {case.name}, {size_bytes:,} bytes\n\n{report.table(head, rows)}\n"


def main() -> None:
    """Measures and prints the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=3)
    options = parser.parse_args()
    with servers.folders() as (folder, root), HeldPorts() as held:
        make_certificates(folder / "tls")
        for size in SIZES_BYTES:
            (root / f"{size}.bin").write_bytes(bytes(size))
        ports = {secure: held.take() for secure in (True, False)}
        command = servers.nginx_with(site=_sites(ports, root, folder / "tls"))
        with servers.running("nginx", folder / "nginx", root, f"/{SIZES_BYTES[0]}.bin", command):
            held.let_go()
            sections = []
            for case in CASES:
                for size in SIZES_BYTES:
                    begins = "https" if case.secure else "http"
                    url = f"{begins}://127.0.0.1:{ports[case.secure]}/{size}.bin"
                    of_ours(case, url, 1)  # what nginx opens and allocates once
                    done = measured(case, url, options.rounds, options.seconds)
                    sections.append(section(case, size, done))
    version = re.search(r"\S+$", subprocess.check_output(["h2load", "--version"], text=True).strip())
    print("# The generator over TLS\n")
    print(
        f"trimtab-load beside h2load and wrk. TLS 1.3 with {CIPHER} and an ECDSA key; {CONNECTIONS} "
        f"connections that are kept, {options.rounds} rounds of {options.seconds} s for each generator, in "
        f"random order within a round. {servers.versions()['nginx'].removeprefix('nginx version: ')}, h2load "
        f"{version[0] if version else ''}. Medians with their range; ratios are those "
        "within a round. `make bench-tls` writes this page.\n"
    )
    print(f"Machine: {report.machine()}.\n")
    print("\n".join(sections), end="")


def _sites(ports: dict[bool, int], root: Path, certificates: Path) -> str:
    """What stands in nginx's server of the benchmarks, and one more server: HTTP/2 without TLS alone."""
    directory = str(certificates)
    return (
        f"listen 127.0.0.1:{ports[True]} ssl http2 backlog=4096; ssl_protocols TLSv1.3; "
        f"ssl_conf_command Ciphersuites {CIPHER}; "
        f"ssl_certificate {tls.certificate_file(directory, 'ecdsa')}; "
        f"ssl_certificate_key {tls.key_file(directory, 'ecdsa')}; }}\n"
        f"  server {{ listen 127.0.0.1:{ports[False]} http2 backlog=4096; root {root};"
    )


if __name__ == "__main__":
    main()
