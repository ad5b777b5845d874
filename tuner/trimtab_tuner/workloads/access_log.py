"""Lines of access logs in the Common and the Combined Log Format, as servers write them and attackers fill
them; those with named fields are read in structured_lines.py.

    192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] "GET /a/b.png HTTP/1.1" 200 2326 "referrer" "user agent"

The last two fields are those of the Combined format; further ones are passed over. Seconds may have a
fraction. The name and port of a virtual host may go first (Apache's `vhost_combined`).

PATHS. What a request names becomes a path of the file set only if it is plain: `plain_path` decodes percent
signs once, walks `.` and `..` without ever leaving the root, and writes every byte that is not a letter,
digit, or one of `-_~.` as `_`, with a checksum of the original at the end of the name, so that different
names stay different. A path that ends in a slash names the index of that directory.
"""

import re
import zlib
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from trimtab_tuner.workloads.structured_lines import fields_of

LONGEST_LINE_BYTES = 1 << 16
LONGEST_NAME_BYTES = 200  # NAME_MAX is 255; room for a checksum and for FileSet's own endings
LONGEST_PATH_BYTES = 1024  # PATH_MAX is 4,096; the file set's folder comes before it
INDEX = "index.html"

_LINE = re.compile(
    rb"(?:[\w.-]+:\d{1,5} )?(\S+) [^\[]{0,1000}"
    rb"\[(\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d):(\d\d(?:[.,]\d{1,9})?) ([+-]\d{4})\] "
    rb'"((?:[^"\\]|\\.)*)" (\d{3}) (\d{1,18}|-)(?!\S)(?: "(?:[^"\\]|\\.)*" "((?:[^"\\]|\\.)*)")?'
)
_MONTHS = {
    name: number
    for number, name in enumerate(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), start=1)
}
_UNUSUAL = re.compile(rb"[^A-Za-z0-9._~-]")


class Entry(NamedTuple):
    """One request as a server logged it.

    `client` tells clients apart as well as the log allows: the address, and the user agent if there is one.
    `target` is the second word of the request line, empty if there is none; `size_bytes` is None where the
    log has `-`.
    """

    client: bytes
    time_s: float
    method: bytes
    target: bytes
    status: int
    size_bytes: int | None


class LineParser:
    """Parses lines; remembers the last minute's date, because successive lines mostly share it."""

    def __init__(self) -> None:
        self._minute: tuple[bytes, bytes] = (b"", b"")
        self._minute_s = 0

    def parse(self, line: bytes) -> Entry | None:
        """The entry of a line; None if it is not one."""
        match = _LINE.match(line)
        if match is None:
            return _structured(line)
        address, minute, seconds, zone, request, status, size, agent = match.groups()
        if (minute, zone) != self._minute:
            minute_s = _minute_seconds(minute, zone)
            if minute_s is None:
                return None
            self._minute, self._minute_s = (minute, zone), minute_s
        words = request.split(b" ")
        return Entry(
            client=address if agent is None else address + b" " + agent,
            time_s=self._minute_s + float(seconds.replace(b",", b".")),
            method=words[0],
            target=words[1] if len(words) > 1 else b"",
            status=int(status),
            size_bytes=None if size == b"-" else int(size),
        )


def _structured(line: bytes) -> Entry | None:
    told = fields_of(line)
    if told is None:
        return None
    client, method, target = (
        text.encode(errors="surrogateescape") if text.isascii() else text.encode(errors="replace")
        for text in (told.client, told.method, told.target)
    )
    return Entry(client, told.time_s, method, target, told.status, told.size)


def _minute_seconds(minute: bytes, zone: bytes) -> int | None:
    """Seconds since the epoch of `10/Oct/2000:13:55` in the zone `-0700`; None for no such date."""
    month = _MONTHS.get(minute[3:6])
    day, year = int(minute[:2]), int(minute[7:11])
    hour, of_hour = int(minute[12:14]), int(minute[15:17])
    if month is None or not 1 <= day <= 31 or hour > 23 or of_hour > 59 or year < 1970:
        return None
    offset_s = (int(zone[1:3]) * 60 + int(zone[3:])) * 60
    local_s = _days_since_1970(year, month, day) * 86_400 + hour * 3600 + of_hour * 60
    return local_s - offset_s if zone[:1] == b"+" else local_s + offset_s


def _days_since_1970(year: int, month: int, day: int) -> int:
    """Days in the Gregorian calendar, counted in years that begin in March, so that leap days come last."""
    year -= month <= 2
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return year * 365 + year // 4 - year // 100 + year // 400 + day_of_year - 719_468


def has_query(target: bytes) -> bool:
    """Whether the request asks a program, by a query."""
    return b"?" in target


def plain_path(target: bytes) -> str | None:
    """The path in the file set that stands for what was asked for; None if it names nothing usable.

    Leaves out a query or fragment, and scheme and host of an absolute target.
    """
    target = target.split(b"?", 1)[0].split(b"#", 1)[0]
    if not target.startswith(b"/"):
        scheme, separator, rest = target.partition(b"://")
        if not separator or scheme.lower() not in (b"http", b"https"):
            return None
        target = b"/" + rest.partition(b"/")[2]
    names: list[bytes] = []
    parts = unquote_to_bytes(target).split(b"/")
    for part in parts:
        if part == b"..":
            del names[-1:]
        elif part not in (b"", b"."):
            names.append(part)
    if parts[-1] in (b"", b".", b".."):
        names.append(INDEX.encode())
    path = "/" + "/".join(_plain_name(name) for name in names)
    return path if len(path) <= LONGEST_PATH_BYTES else None


def _plain_name(name: bytes) -> str:
    """The name itself if it is harmless, else one that is."""
    plain = _UNUSUAL.sub(b"_", name)[:LONGEST_NAME_BYTES]
    if plain.startswith(b"."):  # servers hide or refuse such files
        plain = b"_" + plain[1:]
    if plain != name:
        plain += b"_%08x" % zlib.crc32(name)
    return plain.decode()
