"""Asks the privileged helper (`server.py`) to read and write settings."""

import json
import socket
from pathlib import Path
from typing import Any

from trimtab_agent.os_settings.access import SettingGone, SettingRefused

TIMEOUT_S = 5.0
REPLY_BYTES = 65_536


class HelperAccess:
    """Settings through the helper that listens at `path`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, path: str) -> str:
        """The value, in the form in which it is written. Raises SettingRefused."""
        return self._ask({"operation": "read", "path": path})

    def probe(self, path: str) -> str:
        """The same, of a setting that can be written as well. Raises SettingRefused."""
        return self._ask({"operation": "probe", "path": path})

    def write(self, path: str, value: str) -> None:
        """Writes a value. Raises SettingRefused."""
        self._ask({"operation": "write", "path": path, "value": value})

    def namespace(self) -> str:
        """The network namespace of the helper. Raises SettingRefused."""
        return self._ask({"operation": "namespace"})

    def _ask(self, request: dict[str, str]) -> str:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(TIMEOUT_S)
                connection.connect(str(self._path))
                connection.sendall(json.dumps(request).encode() + b"\n")
                with connection.makefile("rb") as lines:
                    line = lines.readline(REPLY_BYTES)
        except OSError as error:
            raise SettingRefused(
                f"the helper on {self._path} does not answer: {error.strerror or error}"
            ) from error
        try:
            reply: dict[str, Any] = json.loads(line)
        except ValueError as error:
            raise SettingRefused(f"the helper on {self._path} answered with no JSON") from error
        if not reply.get("ok"):
            kind = SettingGone if reply.get("gone") else SettingRefused
            raise kind(str(reply.get("reason", "the helper refused it")))
        return str(reply["value"])
