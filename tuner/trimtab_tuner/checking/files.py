"""Rules about files: what is kept open and goes stale, file systems that lie to sendfile, logs."""

import re
from collections.abc import Iterator

from trimtab_tuner.checking.contradiction import Contradiction, contradiction
from trimtab_tuner.checking.machine import Machine
from trimtab_tuner.checking.statements import ServerFile, Statement

# Where the size that is told and the bytes that come may be of two moments, because others write on the other
# side: what sendfile or mmap then hand out is cut short, or old.
LYING = {
    "vboxsf", "vmhgfs", "prl_fs", "9p", "drvfs", "virtiofs", "fuse.vmhgfs-fuse",
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "glusterfs", "fuse.glusterfs", "fuse.sshfs",
}  # fmt: skip
MEMORY = {"tmpfs", "ramfs"}
STALE_S = 60
_ROOTS = {"root", "alias", "documentroot", "server.document-root", "file.dir"}
_LOGS = {
    "access_log", "error_log", "customlog", "transferlog", "errorlog", "accesslog.filename",
    "server.errorlog", "access-log", "error-log",
}  # fmt: skip
_NO_PATH = re.compile(r"(off|stderr|syslog:|memory:|\||[^/]|/dev/|/proc/self/fd/)")
_CACHE_PATH = re.compile(r"(proxy|fastcgi|uwsgi|scgi)_cache_path")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "": 1}


def paths(file: ServerFile) -> frozenset[str]:
    """The paths of which the rules want to know where they lie: roots, and folders of logs and caches."""
    return frozenset({root.first for root in _roots(file)} | {*_caches(file).values()}) | log_folders(file)


def log_folders(file: ServerFile) -> frozenset[str]:
    """The folders that it has logs in."""
    return frozenset(log.first.rpartition("/")[0] or "/" for log in _logs(file))


def sendfile(file: ServerFile, machine: Machine) -> Iterator[Contradiction]:
    """sendfile or mmap from a file system on which others write unseen."""
    on = _sendfile(file)
    if on is None:
        return
    for root in _roots(file):
        kind = machine.paths.get(root.first)
        if kind in LYING:
            yield contradiction(
                "sendfile-on-shared-file-system",
                "warning",
                on if on.line else root,
                f"{on.said} serves {root.first}, which lies on {kind}: what others write there comes late or "
                "cut short.",
                f"{root.first} is on {kind}",
                root.said,
                suggestion=f"{on.name} off for that site, or a copy on a disk of this machine.",
            )


def _sendfile(file: ServerFile) -> Statement | None:
    """What has the server send by sendfile or mmap; line 0 where nobody has told it to."""
    name = file.target.name
    if name == "nginx":
        found = [each for each in file.named("sendfile") if each.first == "on"]
        return found[-1] if found else None
    if name == "apache":
        for setting in ("enablesendfile", "enablemmap"):
            told = file.last(setting)
            if told is not None and told.first.lower() == "on":
                return told
        return Statement("EnableMMAP", ("On",), 0) if file.last("enablemmap") is None else None
    if name == "lighttpd":
        told = file.last("server.network-backend")
        if told is None:
            return Statement("server.network-backend", ("sendfile",), 0)
        return told if told.first in ("sendfile", "linux-sendfile") else None
    return None


def kept_open(file: ServerFile, machine: Machine) -> Iterator[Contradiction]:
    """Files that are kept open are served as they were; missing ones stay missing."""
    shared = sorted(
        {
            f"{root.first} is on {kind}"
            for root in _roots(file)
            if (kind := machine.paths.get(root.first)) in LYING
        }
    )
    for cache in file.named("open_file_cache"):
        if cache.first == "off":
            continue
        valid = file.last("open_file_cache_valid")
        after_s = 60 if valid is None else _seconds(valid.first)
        if after_s > STALE_S or shared:
            yield contradiction(
                "open-file-cache-goes-stale",
                "warning",
                valid or cache,
                f"{cache.said} keeps files open, and a file that is replaced is served as it was for up to "
                f"{after_s} s.",
                f"open_file_cache_valid {after_s}s",
                *shared,
                suggestion="A shorter open_file_cache_valid, or a reload behind each release.",
            )
        missing = file.last("open_file_cache_errors")
        if missing is not None and missing.first == "on":
            yield contradiction(
                "open-file-cache-keeps-errors",
                "note",
                missing,
                f"{missing.said}: a file that is added stays a 404 for up to {after_s} s if somebody has "
                "asked too early.",
                f"open_file_cache_valid {after_s}s",
                suggestion="open_file_cache_errors off where files are added while the server runs.",
            )
        entries = next((int(a[4:]) for a in cache.arguments if re.fullmatch(r"max=\d+", a)), 0)
        raising = file.last("worker_rlimit_nofile")
        told = None if raising is None else raising.number
        granted = told is not None and told <= machine.descriptors.ceiling
        allowed = told if told is not None and granted else machine.descriptors.soft
        enough = 2 * (entries + 512)
        if entries + file.number("worker_connections", 512) > allowed:
            yield contradiction(
                "open-file-cache-above-descriptors",
                "error",
                cache,
                f"{cache.said} and worker_connections {file.number('worker_connections', 512)} are more than "
                f"the {allowed} open files that a worker may have.",
                f"worker_rlimit_nofile {told}" if granted else machine.descriptors.evidence,
                suggestion=f"Fewer entries, or worker_rlimit_nofile {enough}, with LimitNOFILE={enough} of "
                f"{file.target.unit}.service.",
            )


def logs(file: ServerFile, machine: Machine) -> Iterator[Contradiction]:
    """Logs in folders that are not there, in memory, on the network; and what each request pays for one."""
    opened_anew = file.last("open_log_file_cache")
    for log in _logs(file):
        folder = log.first.rpartition("/")[0] or "/"
        if "$" in log.first and "access" in log.name and opened_anew is None:
            yield contradiction(
                "log-opened-for-each-request",
                "warning",
                log,
                f"{log.said}: a log whose name has a variable is opened and closed for each request.",
                "nginx, ngx_http_log_module: open_log_file_cache",
                suggestion="open_log_file_cache max=100 inactive=60s; or a name without variables.",
            )
        if folder not in machine.paths or "$" in folder:
            continue
        kind = machine.paths[folder]
        if kind is None:
            yield contradiction(
                "log-folder-missing",
                "error",
                log,
                f"{log.said}: there is no folder {folder}, so the server does not start.",
                f"{folder}: no such folder",
                suggestion=f"install -d {folder}, or a log elsewhere.",
            )
        elif kind in MEMORY or kind in LYING:
            what = "takes memory and is gone with the machine" if kind in MEMORY else "waits for the network"
            yield contradiction(
                "log-on-unsuitable-file-system",
                "warning",
                log,
                f"{log.said} lies on {kind}: it {what}.",
                f"{folder} is on {kind}",
                suggestion="A folder on a disk of this machine.",
            )
    for log in file.named("error_log", "loglevel"):
        if re.fullmatch(r"debug\w*|trace\d", log.arguments[-1] if log.arguments else ""):
            yield contradiction(
                "debug-log",
                "warning",
                log,
                f"{log.said} writes many lines for each request, where the server was built to.",
                log.said,
                suggestion="warn, except while something is being looked for.",
            )


def caches(file: ServerFile, machine: Machine) -> Iterator[Contradiction]:
    """Caches whose folder nginx cannot make: it makes the last one of the path, and none above it."""
    for cache, folder in _caches(file).items():
        if folder in machine.paths and machine.paths[folder] is None:
            yield contradiction(
                "cache-folder-missing",
                "error",
                cache,
                f"{cache.said}: there is no folder {folder} to make it in, so nginx does not start.",
                f"{folder}: no such folder",
                suggestion=f"install -d {folder}, or a cache elsewhere.",
            )


def _caches(file: ServerFile) -> dict[Statement, str]:
    """Where a cache is told to be, and the folder around it."""
    told = (each for each in file.statements if _CACHE_PATH.fullmatch(each.name) and each.first[:1] == "/")
    return {each: each.first.rstrip("/").rpartition("/")[0] or "/" for each in told}


def _roots(file: ServerFile) -> Iterator[Statement]:
    return (each for each in file.named(*_ROOTS) if each.first.startswith("/") and "$" not in each.first)


def _logs(file: ServerFile) -> Iterator[Statement]:
    return (each for each in file.named(*_LOGS) if not _NO_PATH.match(each.first))


def _seconds(text: str) -> int:
    """A time of nginx's, as in 30, 90s, 1m30s."""
    return sum(int(number) * _UNITS[unit] for number, unit in re.findall(r"(\d+)([smhd]?)", text))
