"""The status page of a server that has no stats socket: nginx, lighttpd, Apache, h2o.

It is served by the same workers as everything else, so a server that is full may not answer; the time it is
given is short, because the sampler waits for it.
"""

import http.client

from trimtab_tuner.targets.base import Target

TIMEOUT_S = 0.25


class StatusPage:
    """The page of one running server at `address:port`."""

    what = "its status page"

    def __init__(self, target: Target, address: str, port: int) -> None:
        self._target = target
        self._address = address
        self._port = port

    def answers(self, timeout_s: float) -> bool:
        """Whether a worker answers the request for the page."""
        return self._fetch(timeout_s) is not None

    def read(self) -> dict[str, float]:
        """What the page says; empty when it does not come in time or says nothing that we know."""
        text = self._fetch(TIMEOUT_S)
        return self._target.parse_status(text) if text else {}

    def _fetch(self, timeout_s: float) -> str | None:
        connection = http.client.HTTPConnection(self._address, self._port, timeout=timeout_s)
        try:
            connection.request("GET", self._target.status_path or "/", headers={"Connection": "close"})
            response = connection.getresponse()
            text = response.read(1 << 20).decode("utf-8", "replace")
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()
        return text if response.status == http.HTTPStatus.OK else None
