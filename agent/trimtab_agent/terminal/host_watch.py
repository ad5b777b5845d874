"""`trimtab host watch`: the host's counters in the terminal, as vmstat and mpstat show them."""

import json
import sys
import time
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text
from trimtab_tuner.wording import counted

from trimtab_agent.counters.host import host_counters
from trimtab_agent.counters.source import Values

# Columns of the summary: title, source, key, format.
SUMMARY = (
    ("run", "cpu", "run_queue", "{:d}"),
    ("blocked", "cpu", "blocked", "{:d}"),
    ("switches/s", "cpu", "context_switches_per_s", "{:,.0f}"),
    ("interrupts/s", "cpu", "interrupts_per_s", "{:,.0f}"),
    ("read KiB/s", "paging", "read_kib_per_s", "{:,.0f}"),
    ("written KiB/s", "paging", "written_kib_per_s", "{:,.0f}"),
    ("refaults/s", "paging", "file_refaults_per_s", "{:,.0f}"),
    ("page cache MiB", "memory", "page_cache_bytes", "{:,.0f}"),
    ("accept queue full/s", "network", "listen_overflows_per_s", "{:,.0f}"),
    ("retransmits/s", "network", "retransmits_per_s", "{:,.0f}"),
)
STATES = ("user", "system", "irq", "softirq", "iowait", "steal", "idle")


def watch_host(console: Console, *, interval_s: float, count: int | None, as_json: bool) -> None:
    """Samples until `count` is reached or Ctrl-C; one table that is drawn anew, or JSON lines."""
    counters = host_counters()
    earlier = counters.take()
    left = count
    with Live(console=console, auto_refresh=False, transient=False) as live:
        try:
            while left is None or left > 0:
                time.sleep(interval_s)
                later = counters.take()
                sample = counters.between(earlier, later)
                earlier = later
                if as_json:
                    print(json.dumps(sample), flush=True)
                else:
                    live.update(_view(sample, console.size.height), refresh=True)
                left = None if left is None else left - 1
        except KeyboardInterrupt:
            pass
        except BrokenPipeError:
            sys.stderr.close()  # whoever read has gone; nothing is left to say


def _view(sample: Values, height: int) -> Group:
    summary = Table(box=None, pad_edge=False, title="Host", title_justify="left")
    cells = []
    for title, source, key, pattern in SUMMARY:
        summary.add_column(title, justify="right", overflow="fold")
        value: Any = sample.get(source, {}).get(key)
        if value is not None and key.endswith("_bytes"):
            value /= 2**20
        cells.append("–" if value is None else pattern.format(value))
    summary.add_row(*cells)
    cpus = Table(box=None, pad_edge=False, title="CPU time in percent", title_justify="left")
    for title in ("CPU", *STATES):
        cpus.add_column(title, justify="right")
    rows = [("all", sample.get("cpu", {}).get("total", {}))]
    rows += [(str(row["cpu"]), row) for row in sample.get("cpu", {}).get("cpus", [])]
    room = max(2, height - 9)  # titles, heads, the summary and the last lines
    for name, shares in rows[:room]:
        cpus.add_row(name, *(f"{shares[state]:.1f}" if state in shares else "–" for state in STATES))
    notes = [f"{name} is missing: {reason}" for name, reason in sample["missing"].items()]
    if len(rows) > room:
        notes.append(f"… and {counted(len(rows) - room, 'more CPU')}; --json prints all")
    return Group(summary, cpus, Text("\n".join(notes)))
