"""The page of what was learnt from an access log, in Markdown that reads well in a terminal too."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from trimtab_tuner.markdown import markdown_table
from trimtab_tuner.wording import counted, in_percent
from trimtab_tuner.workloads.learning import BURSTY_DISPERSION, LARGEST_FILE_BYTES, steadier_than_poisson
from trimtab_tuner.workloads.other_logs import READ

LENGTH_BANDS = ((1, 1), (2, 2), (3, 5), (6, 10), (11, 20), (21, 50), (51, 200))


def learnt_page(name: str, facts: Mapping[str, Any], complaints: Sequence[str] = ()) -> str:
    """The page for a workload of that name; `facts` are learning.Facts as a dictionary, from JSON or not,
    `complaints` are about logs that could not be read to their end.
    """
    lines = [f"# {name}: what the access log says", ""]
    lines += _log(facts)
    lines += [line for each in complaints for line in ("", f"{each}. What could be read of it counts.")]
    lines += ["", "## Files", "", *_files(facts)]
    lines += ["", "## Sessions", "", *_sessions(facts)]
    lines += ["", "## Arrivals", "", *_arrivals(facts)]
    return "\n".join(lines) + "\n"


def _log(facts: Mapping[str, Any]) -> list[str]:
    begin, end = (datetime.fromtimestamp(facts[key], UTC) for key in ("first_s", "last_s"))
    replayed = _are_replayed(counted(facts["requests"], "request"))
    lines = [
        (
            f"{counted(facts['lines'], 'line')} from {begin:%Y-%m-%d %H:%M:%S} to {end:%Y-%m-%d %H:%M:%S} "
            f"UTC; {replayed}, {_share(facts['requests'], facts['lines'])} of the lines."
        ),
    ]
    if facts["passed_over"]:
        rows = [(reason, f"{count:,}", _WHY[reason]) for reason, count in facts["passed_over"].items()]
        lines += ["", markdown_table(("passed over", "lines", "why"), rows, right=(1,))]
    if unread := facts.get("first_unread"):
        lines += ["", f"The first line that could not be read is line {unread[0]:,}: `{unread[1]}`"]
    if facts["clock_steps_back"]:
        lines += [
            "",
            f"The time steps back {counted(facts['clock_steps_back'], 'time')}: are the logs in order?",
        ]
    return lines


_WHY = {
    "not a log line": f"not in {READ}",
    "method": "only GET and HEAD are replayed",
    "status": "answered with another status than 200 or 304",
    "query": "asks a program; dynamic requests are not replayed",
    "path": "names no file, or one with too long a name",
    "size": f"its body has more than {LARGEST_FILE_BYTES / 1e9:,.0f} GB, which cannot be true",
    "file limit": "the file set holds as many files as it can",
}


def _files(facts: Mapping[str, Any]) -> list[str]:
    lines = [
        (
            f"{counted(facts['files'], 'file')}, {facts['file_set_bytes'] / 1e6:,.1f} MB; "
            f"{facts['bytes_sent'] / 1e6:,.1f} MB were sent."
        ),
        (
            "The most popular tenth of the files gets "
            f"{in_percent(facts['share_of_top_tenth'])} of the requests; "
            f"popularity falls with rank to the power of {facts['popularity_exponent']:.2f} (Zipf's law: 1)."
        ),
    ]
    if facts["files_of_unknown_size"]:
        never = counted(facts["files_of_unknown_size"], "file")
        lines.append(f"Never sent whole, and so of the median size: {never}.")
    rows = [(in_percent(share, 1), f"{size:,}", path) for path, size, share in facts["busiest_files"]]
    return [*lines, "", markdown_table(("share", "bytes", "file"), rows, right=(0, 1))]


def _sessions(facts: Mapping[str, Any]) -> list[str]:
    lengths = {int(length): count for length, count in facts["session_lengths"].items()}
    lines = [
        (
            f"{counted(facts['sessions'], 'session')} of {facts['mean_session_length']:.2f} requests and "
            f"{facts['mean_session_pause_s']:.2f} s of pauses on average; at most "
            f"{facts['clients_at_most_open']:,} at a time."
        ),
        _are_replayed(f"{facts['sessions_kept']:,} of them, chosen at random,") + ".",
    ]
    rows = []
    for low, high in LENGTH_BANDS:
        count = sum(count for length, count in lengths.items() if low <= length <= high)
        if count:
            band = f"{low}" if low == high else f"{low} to {high}"
            rows.append((band, _share(count, facts["sessions"])))
    return [*lines, "", markdown_table(("requests", "sessions"), rows, right=(0, 1))]


def _arrivals(facts: Mapping[str, Any]) -> list[str]:
    lines = [
        (
            f"{_rate(facts['requests_per_s'])} requests and {_rate(facts['sessions_per_s'])} sessions "
            f"a second on average; {counted(facts['busiest_second_requests'], 'request')} in the busiest "
            "second."
        ),
    ]
    dispersion = facts["arrival_dispersion"]
    if dispersion is None:
        lines.append("The log is too short to say how bursty arrivals are.")
    else:
        how = "about as"
        if steadier_than_poisson(dispersion):
            how = "steadier than"
        elif dispersion > BURSTY_DISPERSION:
            how = "burstier than"
        lines.append(
            f"Index of dispersion of session arrivals: {dispersion:.2f}, {how} Poisson arrivals (1)."
        )
    return lines


def _are_replayed(what: str) -> str:
    """That what begins with a number is replayed."""
    return f"{what} {'is' if what.split()[0] == '1' else 'are'} replayed"


def _rate(per_s: float) -> str:
    """Two decimals, or two figures where those would be none."""
    return f"{per_s:.2f}" if per_s >= 0.1 else f"{per_s:.2g}"


def _share(part: int, whole: int) -> str:
    return in_percent(part / whole, 1) if whole else "0 %"
