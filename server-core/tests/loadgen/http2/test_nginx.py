"""HTTP/2 with the real nginx."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from trimtab_tuner.workloads.content import file_content

from .conftest import cells

SIZES = (0, 1, 16_384, 100_001, 8_000_000)
"""The last one is more than the window of a stream, and twice that more than that of a connection."""


@pytest.fixture
def serve_nginx(tmp_path: Path, start_nginx: Callable[..., int]) -> Callable[..., str]:
    """Starts an nginx that serves tmp_path over HTTP/2, with TLS if asked for; returns its URL."""

    def start(*, secured: bool, settings: str = "") -> str:
        if secured:
            files = ("-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "own.pem"))
            kind = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")
            command = ["openssl", "req", "-x509", "-nodes", *kind, "-subj", "/CN=x", "-days", "1", *files]
            subprocess.run(command, check=True, capture_output=True)
            settings += f'ssl_certificate "{tmp_path}/own.pem"; ssl_certificate_key "{tmp_path}/key.pem";'
        port = start_nginx("http2 ssl" if secured else "http2", settings)
        return f"http{'s' if secured else ''}://127.0.0.1:{port}"

    return start


@pytest.mark.parametrize("secured", [False, True])
@pytest.mark.live
def test_nginx_serves_every_byte(ask, serve_nginx, tmp_path, write_log, secured):
    """Files of any size, several at once, larger ones than the windows: every byte is what it should be."""
    for size in SIZES:
        (tmp_path / f"{size}.bin").write_bytes(file_content(f"/{size}.bin", size))
    log = write_log("/1.bin size=1\n" + "".join(f" /{size}.bin size={size}\n" for size in SIZES) * 2)
    result = ask(
        serve_nginx(secured=secured),
        *("--rate=220", "--duration=0.1", "--timeout=30", "--sessions", log, "--verify=all"),
    )
    assert cells(result) == {"replied": 22}
    assert result["replies"]["verified"] == 18  # the empty ones have no content
    assert result["http2"]["most_streams"] >= 5
    assert result["tls"]["handshakes"] == (2 if secured else 0)


@pytest.mark.live
def test_nginx_that_leaves_often_loses_nothing(ask, serve_nginx, tmp_path):
    """With 20 requests a connection and three streams at once every request is answered in the end."""
    (tmp_path / "a.bin").write_bytes(bytes(100))
    url = serve_nginx(secured=False, settings="keepalive_requests 20; http2_max_concurrent_streams 3;")
    result = ask(
        url + "/a.bin",
        *("--connections=4", "--streams=10", "--duration=0.5", "--timeout=10"),
        mode="closed",
    )
    assert cells(result) == {"replied": result["requests"]["offered"]}
    # A session may end just as the server leaves.
    assert (
        4 < result["sessions"]["reopened"] <= result["http2"]["goaways"] <= result["sessions"]["reopened"] + 4
    )
    assert result["http2"]["asked_again"] > 0
