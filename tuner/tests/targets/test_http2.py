"""What each server's file says of HTTP/2, and what a file translated for another one says of it."""

from dataclasses import replace
from pathlib import Path

import pytest
from trimtab_tuner.exports.translation import translate
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderContext
from trimtab_tuner.targets.editing import own_tls
from trimtab_tuner.targets.http2 import with_http2
from trimtab_tuner.targets.servers.nginx import syntax
from trimtab_tuner.targets.tls import with_tls

CONTEXT = RenderContext(
    root="/srv/www",
    listen=("127.0.0.1:8000", "127.0.0.1:8001"),
    status_listen="127.0.0.1:9000",
    prefix="/run/x",
    tls_directory="/run/tls",
)
SPEAKING = [name for name in TARGETS if TARGETS[name].http2 is not None]


def space(name):
    """The knobs of a run over HTTP/2 and TLS."""
    target = TARGETS[name]
    return with_http2(with_tls(target.space(), target.tls_knobs), target.http2)


def rendered(name, **changes):
    """The file that serves a workload over HTTP/2 and TLS."""
    return TARGETS[name].render(space(name).default() | changes, CONTEXT)


def test_nginx_speaks_http2_on_every_address_of_the_workload():
    """And not on that of the status page."""
    text = rendered("nginx", http2_max_concurrent_streams=16, http2_chunk_size=2048)
    found: dict[str, list[list[str]]] = {}
    for directive, _ in syntax.walk(syntax.parse(text)):
        found.setdefault(directive.name, []).append(directive.arguments)
    assert [words[-2:] for words in found["listen"][:2]] == [["ssl", "http2"]] * 2
    assert found["listen"][2] == ["127.0.0.1:9000"]
    assert found["http2_max_concurrent_streams"] == [["16"]]
    assert found["http2_chunk_size"] == [["2048"]]


@pytest.mark.parametrize(
    ("threads", "asked", "least", "most"), [(25, "auto", 25, 37), (64, "auto", 64, 96), (25, 128, 128, 192)]
)
def test_apache_has_threads_for_streams(threads, asked, least, most):
    """As many as for connections without being told; half as many more may start."""
    lines = rendered("apache", ThreadsPerChild=threads, H2MinWorkers=asked).splitlines()
    assert f"H2MinWorkers {least}" in lines
    assert f"H2MaxWorkers {most}" in lines
    assert "Protocols h2 http/1.1" in lines


def test_apache_speaks_http2_without_tls():
    """Beside HTTP/1, on the same address."""
    target = TARGETS["apache"]
    text = target.render(
        with_http2(target.space(), target.http2).default(), replace(CONTEXT, tls_directory=None)
    )
    assert "Protocols h2c http/1.1" in text.splitlines()


@pytest.mark.parametrize("name", SPEAKING)
def test_other_workloads_meet_the_file_that_they_met_before(name):
    """No word of HTTP/2, but for h2o's file cache, which is called after it."""
    text = TARGETS[name].render(TARGETS[name].space().default(), replace(CONTEXT, tls_directory=None))
    text = text.replace("http2-max-concurrent-requests-per-connection", "")
    assert "http2" not in text
    assert "H2M" not in text


@pytest.mark.parametrize("name", ["nginx", "h2o"])
def test_knobs_are_read_from_a_users_file(name):
    """What is written is read; `http2` itself is what the workload says."""
    changes = {
        "nginx": {"http2_max_concurrent_streams": 7, "http2_chunk_size": 4096},
        "h2o": {"http2-idle-timeout": 99},
    }
    text = rendered(name, **changes[name])
    assert own_tls(TARGETS[name], text).items() >= {**changes[name], "http2": "on"}.items()


def test_concurrent_streams_are_translated():
    """From nginx to Apache; to lighttpd, which has no such setting, they are not."""
    configuration = space("nginx").default() | {"http2_max_concurrent_streams": 33}
    to_apache = translate(TARGETS["nginx"], configuration, TARGETS["apache"], 1)
    assert to_apache.configuration["H2MaxSessionStreams"] == 33
    assert to_apache.configuration["http2"] == "on"
    to_lighttpd = translate(TARGETS["nginx"], configuration, TARGETS["lighttpd"], 1)
    assert "http2_max_concurrent_streams" in to_lighttpd.without_equivalent


@pytest.mark.parametrize("name", SPEAKING)
def test_every_knob_of_http2_is_documented(name):
    """Each has its row in the table of its server."""
    document = (Path(__file__).parents[3] / "docs" / "targets.md").read_text()
    section = document.split(f"### {name} with HTTP/2\n")[1].split("\n### ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| **`")]
    for row, knob in zip(rows, TARGETS[name].http2.knobs, strict=True):
        assert row.startswith(f"| **`{knob.name}`** |")
        assert f"| {knob.default} | {knob.help} |" in row
