"""Measures the behaviours of the literature on this machine, and prints docs/lab/behaviours.md from that.

python server-core/bench/behaviours.py [--rounds N] [--saved FILE] [NUMBER …]
python server-core/bench/behaviours.py --page [--saved FILE]

Every measurement is saved as soon as it is made. A start measures what is missing to so many rounds, so that
rounds can be collected over several starts; without the file it begins anew.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import report
from finding import Finding, Statement
from lab import Lab
from small_machine import CPU_SHARE, DISK_BYTES_PER_S, part_of_a_cpu
from statements import NOT_TRIED, STATEMENTS

SAVED = Path(__file__).parents[2] / ".build" / "behaviours.json"
OF_THE_DIGEST = 31
PRIORITY = -15


class Rounds:
    """What has been measured: findings by the number of their statement, and the saturations behind them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        self.machine: str = known.get("machine", report.machine())
        self.saturations_rps: list[float] = known.get("saturations_rps", [])
        self.findings: dict[int, list[Finding]] = {
            int(number): [Finding(**one) for one in found]
            for number, found in known.get("findings", {}).items()
        }

    def of(self, number: int) -> list[Finding]:
        """The findings about a statement, in the order in which they were made."""
        return self.findings.setdefault(number, [])

    def save(self) -> None:
        """Writes the file anew; it is never half there."""
        document = {
            "machine": self.machine,
            "saturations_rps": self.saturations_rps,
            "findings": {number: [asdict(one) for one in found] for number, found in self.findings.items()},
        }
        fresh = self._path.with_suffix(".new")
        fresh.write_text(json.dumps(document, indent=1))
        fresh.replace(self._path)


def main() -> None:
    """Measures what is missing of the statements asked for, all by default, or prints the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("numbers", nargs="*", type=int, metavar="NUMBER", help="statements to measure")
    parser.add_argument("--rounds", type=int, default=3, help="how many of each there are to be in the end")
    parser.add_argument("--saved", type=Path, default=SAVED, help="where the measurements are kept")
    parser.add_argument("--page", action="store_true", help="print the page and measure nothing")
    options = parser.parse_args()
    rounds = Rounds(options.saved)
    if options.page:
        print_page(rounds)
        return
    chosen = [one for one in STATEMENTS if not options.numbers or one.number in options.numbers]
    missing = [
        (number, one)
        for number in range(options.rounds)
        for one in chosen
        if len(rounds.of(one.number)) <= number
    ]
    if missing:
        measure(rounds, missing)


def measure(rounds: Rounds, missing: list[tuple[int, Statement]]) -> None:
    """Makes the measurements, each a round and a statement, and saves each.

    Servers and generator inherit the priority, so that other programs wait for them, where that is allowed.
    """
    with contextlib.suppress(PermissionError):
        os.nice(PRIORITY)
    with tempfile.TemporaryDirectory() as temporary, part_of_a_cpu() as joining:
        folder = Path(temporary)
        folder.chmod(0o755)
        lab = Lab(folder, joining)
        saturation_rps = lab.most_rps(architecture="symped", workers=1, max_connections=10_000)
        rounds.saturations_rps.append(saturation_rps)
        for number, statement in missing:
            print(f"round {number + 1}: {statement.number}. {statement.claim}", file=sys.stderr)
            lab.measured = lab.limited = 0
            finding = statement.measure(lab, saturation_rps)
            if lab.limited:
                held_up = (
                    f"{finding.seen}; the generator held up {lab.limited} of {lab.measured} measurements"
                )
                finding = replace(finding, seen=held_up)
            rounds.of(statement.number).append(finding)
            rounds.save()
            print(f"  {finding.ratio:.2f} {finding.as_stated}: {finding.seen}", file=sys.stderr)


def row(statement: Statement, findings: list[Finding]) -> list[str]:
    """The line of a statement in the table."""
    times = sum(finding.as_stated for finding in findings)
    verdict = "as stated" if times == len(findings) else "not as stated" if times == 0 else "mixed"
    return [
        f"{statement.number}. {statement.claim} ({statement.source})",
        f"{verdict} ({times} of {len(findings)})",
        report.spread([finding.ratio for finding in findings]),
        f"As stated if {statement.criterion}. Last seen: {findings[-1].seen}",
    ]


def print_page(rounds: Rounds) -> None:
    """The page, ready to be kept."""
    measured = [one for one in STATEMENTS if rounds.of(one.number)]
    digest = [one for one in measured if one.number <= OF_THE_DIGEST]
    counts = sorted({len(rounds.of(one.number)) for one in measured})
    print("# Behaviours of the literature, measured here\n")
    print(
        "The documents behind Trimtab make 31 statements about web servers that can be tested. These are the "
        f"{len(digest)} of them that were tried on the machine below, each in small, with the SPECweb99-like "
        "mix at a tenth of its pauses and time limits where nothing else is said. What did not come out as "
        "stated is told as well.\n"
    )
    print(
        f"Machine: {rounds.machine}; one CPU serves, one generates. The server gets {CPU_SHARE:.0%} of "
        "its CPU, so that more can be offered than it serves. From disk it reads "
        f"{DISK_BYTES_PER_S / 1e6:.0f} MB a second at most, as from the thesis' disk.\n"
    )
    print(
        f"Saturation of one SYMPED process: about {report.spread(rounds.saturations_rps, 0)} requests/s. "
        f"`make behaviours` makes this page; rounds of each statement: "
        f"{' to '.join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))}. Ratios are medians, "
        "with the range of the rounds where there are several.\n"
    )
    head = ["statement", "outcome", "ratio", "reason"]
    print(report.table(head, [row(one, rounds.of(one.number)) for one in digest]))
    beyond = [one for one in measured if one.number > OF_THE_DIGEST]
    if beyond:
        print("\n## Controllers of stages\n")
        print("SEDA's promises, tried with the controllers of the `pipeline` architecture.\n")
        print(report.table(head, [row(one, rounds.of(one.number)) for one in beyond]))
    print("\n## Not tried\n")
    print(report.table(["statement", "why not"], [[f"{n}. {claim}", why] for n, claim, why in NOT_TRIED]))
    waiting = [one for one in STATEMENTS if not rounds.of(one.number)]
    if waiting:
        print("\nStill to be measured: " + ", ".join(str(one.number) for one in waiting) + ".")


if __name__ == "__main__":
    main()
