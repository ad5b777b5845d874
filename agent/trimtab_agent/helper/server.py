"""The privileged helper: reads and writes CPU masks and knobs of the kernel for a daemon without privileges.

It is written to be read in one sitting, and does five things:

    {"operation": "read",  "path": P}              → {"ok": true, "value": "00000003"}
    {"operation": "probe", "path": P}              → the same, if P can be written; nothing is
    {"operation": "write", "path": P, "value": V}  → {"ok": true, "value": what is there afterwards}
    {"operation": "namespace"}                     → {"ok": true, "value": its network namespace}
    anything else                                  → {"ok": false, "reason": "…", "gone": false}

P must be one of the settings listed in `os_settings/access.py` and V have its form; those rules are checked
here, whatever the daemon has checked. One request and one reply a connection, each a line of at most 4 KiB.
Who may ask is decided by the kernel: the uid that SO_PEERCRED gives (unix(7)) must be the one named at the
start. Requests are served one after the other, each within a second from the first byte waited for to the
last byte sent; a slower peer is hung up on. A second helper does not take the socket of one that answers. It
keeps no state: the journal is the daemon's, which restores through the same lines.

Usage: python -m trimtab_agent.helper.server SOCKET --uid UID [--root DIRECTORY]
"""

import argparse
import json
import os
import signal
import socket
import stat
import struct
import sys
import time
from pathlib import Path
from typing import Any

from trimtab_agent.os_settings.access import DirectAccess, SettingAccess, SettingGone, SettingRefused

REQUEST_BYTES = 4096
PATIENCE_S = 1.0
CREDENTIALS = struct.Struct("3i")  # pid, uid, gid


def answer(line: bytes, access: SettingAccess) -> dict[str, Any]:
    """The reply to one request; whatever the line holds, it is a reply and never an exception."""
    try:
        request = json.loads(line)
        if not isinstance(request, dict):
            raise SettingRefused("expected a JSON object")
        words = {name: value for name, value in request.items() if isinstance(value, str)}
        if len(words) != len(request):
            raise SettingRefused("expected only texts in the request")
        match words:
            case {"operation": "read", "path": path, **rest} if not rest:
                value = access.read(path)
            case {"operation": "probe", "path": path, **rest} if not rest:
                value = access.probe(path)
            case {"operation": "write", "path": path, "value": wanted, **rest} if not rest:
                access.write(path, wanted)
                value = access.read(path)
            case {"operation": "namespace", **rest} if not rest:
                value = access.namespace()
            case _:
                raise SettingRefused(
                    "expected operation read or probe with path, write with path and value, or namespace"
                )
        return {"ok": True, "value": value}
    except SettingRefused as error:
        return {"ok": False, "reason": str(error), "gone": isinstance(error, SettingGone)}
    except (ValueError, RecursionError):
        return {"ok": False, "reason": "expected one line of JSON", "gone": False}


def serve_one(connection: socket.socket, uid: int, access: SettingAccess) -> None:
    """Serves one connection; raises OSError when the peer has gone or is too slow."""
    deadline_s = time.monotonic() + PATIENCE_S
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    _, peer_uid, _ = CREDENTIALS.unpack(credentials)
    if peer_uid != uid:
        reply = {"ok": False, "reason": f"uid {peer_uid} may not ask: only {uid} may", "gone": False}
    else:
        line = b""
        while not line.endswith(b"\n") and len(line) < REQUEST_BYTES:
            _wait_until(deadline_s, connection)
            part = connection.recv(REQUEST_BYTES - len(line))
            if not part:
                break
            line += part
        reply = answer(line, access)
    _wait_until(deadline_s, connection)
    connection.sendall(json.dumps(reply).encode() + b"\n")


def _wait_until(deadline_s: float, connection: socket.socket) -> None:
    """Lets the connection's next call wait no longer than that; raises TimeoutError when it is past."""
    left_s = deadline_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError("the request took too long")
    connection.settimeout(left_s)


def listen(path: Path, uid: int) -> socket.socket:
    """A listening socket that only `uid` (and root) can connect to.

    A socket that nobody answers on is replaced. Raises SystemExit, with a sentence, for anything else there.
    """
    _make_way(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)  # from the first moment on, nobody else
    try:
        listener.bind(str(path))
    finally:
        os.umask(before)
    # Whoever may write in the directory could have put a link in its place meanwhile.
    os.chown(path, uid, -1, follow_symlinks=False)
    listener.listen(8)
    return listener


def _make_way(path: Path) -> None:
    try:
        kind = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(kind):
        sys.exit(f"trimtab-helper: {path} is there and no socket: expected a path that is free")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(PATIENCE_S)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)  # whoever made it has gone
            return
        except OSError as error:
            sys.exit(f"trimtab-helper: whether {path} is in use cannot be told: {error.strerror or error}")
    sys.exit(f"trimtab-helper: another helper answers on {path}: expected a path of this one's own")


def main() -> None:
    """Serves until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="trimtab-helper", description="Reads and writes kernel settings.")
    parser.add_argument("socket", type=Path, help="path of the Unix socket to listen on")
    parser.add_argument("--uid", type=int, required=True, help="the only user whose requests are served")
    parser.add_argument(
        "--root", type=Path, default=Path("/"), help="where the host's /proc and /sys are mounted"
    )
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    access = DirectAccess(options.root)
    with listen(options.socket, options.uid) as listener:
        print(f"trimtab-helper: ready on {options.socket} for uid {options.uid}", flush=True)
        try:
            while True:
                connection, _ = listener.accept()
                with connection:
                    try:
                        serve_one(connection, options.uid, access)
                    except OSError:
                        continue  # the peer has gone, or was too slow: nobody to tell
        finally:
            options.socket.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
