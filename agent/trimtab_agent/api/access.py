"""Who may talk to the daemon: which Host names, which origins, with which token.

A local daemon is reachable by every web page its user visits. Three checks keep those out. The Host header
must be a name the daemon is meant to be reached by, or a page that lets its own name point to 127.0.0.1
could read everything (DNS rebinding). Requests that change something, and the live stream, must come from
the daemon's own origin when a browser names one. And off the loopback address, every request to the API
shows the token: in an `Authorization: Bearer` header, or through a session cookie that it has been
exchanged for.
"""

import math
import secrets
from collections import deque
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from trimtab_agent.api.wrong_tokens import WrongTokens
from trimtab_agent.settings import AgentSettings

COOKIE = "trimtab_session"
SESSIONS_KEPT = 256
LONGEST_PORT = 5  # digits
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
# What a form of another site can send without being asked first.
FORM_TYPES = frozenset({"application/x-www-form-urlencoded", "multipart/form-data", "text/plain"})
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
LIVE_PATH = "/api/v1/live"
OPEN_PATHS = frozenset({"/api/v1/health", "/api/v1/session"})
"""Paths of the API that need no token: the health check, and where a token is handed in."""


class AccessDenied(Exception):
    """A request is refused at the door, with this status, error code and sentence."""

    def __init__(self, status: int, code: str, sentence: str, *, wait_s: float = 0.0) -> None:
        super().__init__(sentence)
        self.headers = {"Retry-After": str(math.ceil(wait_s))} if wait_s else None
        self.status = status
        self.code = code
        self.sentence = sentence


class Access:
    """The three checks for one daemon; `port` is the one it really listens on."""

    def __init__(self, settings: AgentSettings, port: int) -> None:
        """Raises `HostError` if the settings would leave the daemon open (`AgentSettings.access_token`)."""
        self._token = settings.access_token()
        self._sessions: deque[str] = deque(maxlen=SESSIONS_KEPT)
        self._wrong = WrongTokens()
        own = settings.host if ":" not in settings.host else f"[{settings.host}]"
        self._authorities = {f"{name}:{port}" for name in (*LOOPBACK_NAMES, own.lower())}
        self._any_port = {name for name in settings.extra_hosts if _port(name) is None}
        self._authorities |= {name for name in settings.extra_hosts if _port(name) is not None}

    @property
    def token_required(self) -> bool:
        """Whether requests must show a token."""
        return self._token is not None

    def check(self, method: str, path: str, headers: Headers, client: str = "") -> None:
        """Raise `AccessDenied` unless a request with these headers, of this address, may pass."""
        authority = headers.get("host", "").lower()
        if not self._known(authority):
            raise AccessDenied(
                400,
                "unknown-host",
                f"Host {authority!r} is not a name of this daemon; TRIMTAB_EXTRA_HOSTS adds names.",
            )
        origin = headers.get("origin")
        guarded = method not in SAFE_METHODS or path == LIVE_PATH
        if guarded and origin is not None and not _is_page_of(origin, authority):
            raise AccessDenied(403, "foreign-origin", f"{origin} is another origin.")
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if method not in SAFE_METHODS and kind in FORM_TYPES:
            raise AccessDenied(
                415, "not-json", f"A body of {kind} is not taken; expected application/json, or no body."
            )
        if path.startswith("/api/") and path not in OPEN_PATHS and not self._shows_token(headers, client):
            raise AccessDenied(
                401,
                "token-required",
                "This daemon asks for its token: `Authorization: Bearer`, or POST /api/v1/session.",
            )

    def open_session(self, token: str, client: str = "") -> str:
        """The value of a new session cookie, in exchange for the token; raises `AccessDenied`."""
        if not self._is_token(token, client):
            raise AccessDenied(401, "wrong-token", "That is not this daemon's token.")
        self._sessions.append(secrets.token_urlsafe(32))
        return self._sessions[-1]

    def _known(self, authority: str) -> bool:
        port = _port(authority)
        name = authority if port is None else authority.removesuffix(f":{port}")
        return name in self._any_port or f"{name}:{port or 80}" in self._authorities

    def _is_token(self, shown: str, client: str) -> bool:
        """Raises `AccessDenied` for an address that has been wrong too often, right or not."""
        if wait_s := self._wrong.wait_s(client):
            raise AccessDenied(
                429,
                "too-many-tries",
                f"Too many wrong tokens from {client}; expected the next try in {math.ceil(wait_s)} s.",
                wait_s=wait_s,
            )
        if self._token is None or not secrets.compare_digest(shown.encode(), self._token.encode()):
            self._wrong.note(client)
            return False
        self._wrong.forget(client)
        return True

    def _shows_token(self, headers: Headers, client: str) -> bool:
        if self._token is None:
            return True
        scheme, _, shown = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._is_token(shown.strip(), client):
            return True
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return False
        return cookie is not None and cookie.value in self._sessions


def _is_page_of(origin: str, authority: str) -> bool:
    """Whether the origin is one of web pages at this host and port."""
    try:
        parts = urlsplit(origin)
    except ValueError:  # an address in brackets that is none
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == authority


def _port(authority: str) -> int | None:
    """The port of `name:port` or `[address]:port`; None without one."""
    _, _, port = authority.rpartition(":")
    digits = port.isascii() and port.isdigit() and len(port) <= LONGEST_PORT
    return int(port) if digits and port != authority else None
