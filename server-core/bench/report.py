"""What every benchmark prints: a Markdown section with the machine, the method and a table."""

from __future__ import annotations

import platform
import statistics
from collections.abc import Sequence
from pathlib import Path

import psutil


def machine() -> str:
    """One sentence naming the CPU, the CPUs, the memory and the kernel."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "CPU")
    memory_gib = psutil.virtual_memory().total / 2**30
    return f"{psutil.cpu_count()} × {model}, {memory_gib:.0f} GiB, Linux {platform.release()}"


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Median with the range, as `1.23 (1.10–1.31)`; of a single value, which has no range, that alone."""
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A Markdown table; the first columns, `left` of them, read left, figures read right."""
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *rows])


if __name__ == "__main__":
    print("# Benchmarks\n")
    print("Written by `make bench`; figures of other machines differ, ratios less so.\n")
    print(f"Machine: {machine()}.")
