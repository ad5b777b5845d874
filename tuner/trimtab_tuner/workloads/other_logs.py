"""Which kind of log a file is that is no access log in a format that can be read, by its first lines."""

import re

READ = "the Common or Combined Log Format, JSON or LTSV"
_KINDS = {
    "the W3C extended log format, as IIS writes it": rb"#(Software|Version|Fields|Date):",
    "the error log of nginx": rb"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d \[\w+\] \d+#\d+:",
    "the error log of Apache": rb"\[\w{3} \w{3} \d\d \d\d:\d\d:\d\d[.\d]* \d{4}\] \[",
    "the error log of lighttpd": rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d: \([\w.-]+\.c\.\d+\)",
    "the log of HAProxy": rb"(.*haproxy\[\d+\]: |.* \d+/-?\d+/-?\d+/-?\d+/\+?\d+ \d{3} )",
    "Squid's own format": rb"\d+\.\d{3}\s+-?\d+ \S+ [A-Z_]+/\d{3} ",
    "the log of an Elastic Load Balancer": rb"(https?|h2|wss?) \d{4}-\d\d-\d\dT\S+ \S+ \S+:\d+ ",
    "access logs of S3": rb"[0-9a-f]{64} \S+ \[\d\d/\w{3}/\d{4}",
    "the journal, or syslog": rb"(\w{3} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S+) \S+ [\w./-]+(\[\d+\])?: ",
    "JSON whose fields for time, request and status have other names than those that are known": rb"\s*\{",
    "the Common Log Format, but for the time zone behind the time": (
        rb'\S+ \S+ \S+ \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d\] "'
    ),
    "the Common Log Format with a further field between time and request": (
        rb'\S+ \S+ \S+ \[\d\d/\w{3}/\d{4}[^\]]*\] [^"\s]\S* "'
    ),
    "a file compressed by zstd": rb"\x28\xb5\x2f\xfd",
    "a file compressed by xz": rb"\xfd7zXZ",
    "a file compressed by bzip2": rb"BZh",
}
_PATTERNS = {kind: re.compile(pattern) for kind, pattern in _KINDS.items()}


def kind_of(line: bytes) -> str:
    """What the line shows its log to be; empty where nobody knows."""
    return next((kind for kind, pattern in _PATTERNS.items() if pattern.match(line)), "")
