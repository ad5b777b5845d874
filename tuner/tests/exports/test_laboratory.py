"""What belongs to the laboratory (CPUs, addresses, paths, limits) is in no file that is handed back."""

from dataclasses import replace

import pytest
from trimtab_trials.configuration import Value
from trimtab_tuner.exports import ExportOrder, export_files
from trimtab_tuner.roles import Role
from trimtab_tuner.space import Knob
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.backends import BACKENDS, with_backend
from trimtab_tuner.targets.base import ExportEvidence, RenderContext
from trimtab_tuner.targets.common_knobs import with_proxying
from trimtab_tuner.targets.editing import own_proxying, own_tls, own_values
from trimtab_tuner.targets.evidence import PLACES
from trimtab_tuner.targets.placement import REPLICA_KNOBS
from trimtab_tuner.targets.sources import recorded_sources
from trimtab_tuner.targets.tls import KEY, with_tls

CPUS = ("613", "617", "0" * 100)  # the last is the mask of any of them
PLACED = ("203.0.113.7", ":8099", "/laboratory")
LABORATORY = RenderContext(
    root="/laboratory/site",
    listen=("203.0.113.7:8099",),
    stats_socket="/laboratory/stats.sock",
    status_listen="203.0.113.7:8098",
    server_cpus=(613, 617),
    prefix="/laboratory/own",
    error_log="/laboratory/error.log",
    php_socket="/laboratory/php.sock",
    upstream="203.0.113.7:9000",
    tls_directory="/laboratory/tls",
)
OWN = {
    "core": "[server]\nroot = /srv\nlisten = 0.0.0.0:80\nworkers = 2\naffinity = 0,1\n",
    "nginx": """\
worker_processes auto;
worker_cpu_affinity auto;
worker_rlimit_nofile 9999;
events { worker_connections 100; }
http {
    upstream app { server 192.0.2.1:80; keepalive 2; }
    server { listen 443 ssl; ssl_certificate a; ssl_certificate_key b; ssl_session_cache shared:SSL:1m; }
    server { listen 80 backlog=77; root /srv; location /app { proxy_pass http://app; } }
}
""",
    "lighttpd": """\
server.port = 80
server.document-root = "/srv"
server.max-fds = 9999
server.max-worker = 2
$HTTP["host"] == "a" { proxy.server = ( "" => (( "host" => "192.0.2.1", "port" => 80 )) ) }
""",
    "apache": """\
Listen 80
ServerLimit 3
SSLSessionCache shmcb:/run/cache(1000)
<VirtualHost *:80>
    ProxyPass /app http://192.0.2.1/
</VirtualHost>
""",
    "h2o": """\
num-threads: 2
ssl-session-resumption: {mode: cache}
listen: 80
hosts:
  a:
    paths: {/: {file.dir: /srv}, /app: {proxy.reverse.url: "http://192.0.2.1/"}}
""",
    "mariadb": "[mysqld]\nmax_connections = 55\ndatadir = /srv/data\n",
}


def other_value(knob: Knob, value: Value) -> Value:
    """A value that this one is not; workers are pinned."""
    if knob.role is Role.PLACEMENT:
        return "process" if "process" in knob.choices else knob.choices[-1]
    if knob.kind == "integer":
        return knob.high if value == knob.low else knob.low
    return next(choice for choice in (*knob.choices[1:], knob.choices[0]) if choice != value)


def exported(name: str, *, base: str, tuned_all: bool = True, backend: str = "") -> dict[str, str]:
    """What everything is exported as that an export consists of, by format; without a base a file of ours."""
    target = TARGETS[name]
    space = target.space(cpus=2)
    if backend:
        space = with_backend(space, BACKENDS[backend])
    if target.proxy_knobs:
        space = with_proxying(space, target.proxy_knobs, target.proxy_free)
    if target.tls_knobs:
        space = with_tls(space, target.tls_knobs)
    default = space.default()
    if base:
        own = {**own_values(target, base, 2), **own_tls(target, base), **own_proxying(target, base)}
        default |= {knob: value for knob, value in own.items() if knob in default}
    kept = {*REPLICA_KNOBS, KEY.name, "architecture", "copy_of", "mpm"}
    tuned = {
        knob.name: other_value(knob, default[knob.name])
        for knob in space.knobs
        if knob.name not in kept and (tuned_all or knob.role is Role.WORKERS)
    }
    about = {"run": "7", "date": "2026-01-02", "host": "x", "workload": "x", "objective": "x", "trials": 1}
    order = ExportOrder(
        target=target,
        space=space,
        configuration={**default, **tuned},
        context=LABORATORY
        if target.tls_knobs
        else replace(LABORATORY, tls_directory=None, upstream=None, php_socket=None),
        evidence=ExportEvidence(**about, default=default),
        base=recorded_sources({"path": "/etc/own.conf", "text": base}) if base else None,
        expanded=base,
    )
    return {file.format: file.text for file in export_files(order)}


def in_force(text: str) -> str:
    """Without what is told in comments."""
    return "".join(line for line in text.splitlines(True) if line.lstrip()[:1] not in ("#", ";"))


def said(text: str, marks: tuple[str, ...]) -> list[str]:
    """The lines in force with one of these marks."""
    return [line for line in in_force(text).splitlines() if any(mark in line for mark in marks)]


def foreign(name: str) -> set[str]:
    """The formats that are files for other servers, whole ones of ours."""
    own = TARGETS[name]
    return {each.program for each in TARGETS.values() if each is not own and each.protocol == own.protocol}


@pytest.mark.parametrize("name", TARGETS)
def test_cpus_of_the_laboratory_are_in_no_export(name):
    """Whoever pins workers finds the CPUs of its own machine, whatever was tuned, with a base and without."""
    for base in ("", OWN[name]):
        for kind, text in exported(name, base=base).items():
            assert not said(text, CPUS), (kind, base)


@pytest.mark.parametrize("name", TARGETS)
def test_addresses_and_paths_of_the_laboratory_are_in_nothing_that_is_made_of_a_users_file(name):
    """Neither in the file, nor in the patch, nor in what surrounds them."""
    files = exported(name, base=OWN[name])
    assert files[TARGETS[name].program] != OWN[name]
    for kind in files.keys() - foreign(name):
        assert not said(files[kind], PLACED), kind


@pytest.mark.parametrize("name", TARGETS)
def test_a_whole_file_of_ours_says_which_places_are_of_the_laboratory(name):
    """It has to name some: whoever takes it is told to put their own in."""
    for kind, text in exported(name, base="").items():
        if said(text, PLACED):
            assert PLACES in text.replace("\n#   ", " "), kind


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_file_of_a_program_behind_the_server_says_so_too(backend):
    """Its socket and its logs are those of the measurement."""
    sign = ";" if BACKENDS[backend].speaks == "fastcgi" else "#"
    text = exported("nginx", base=OWN["nginx"], backend=backend)[BACKENDS[backend].package]
    assert not said(text, CPUS)
    assert PLACES in text.replace(f"\n{sign}   ", " ")


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("core", ("affinity = 0,1", "listen = 0.0.0.0:80")),
        ("nginx", ("worker_cpu_affinity auto;", "worker_rlimit_nofile 9999;")),
        ("lighttpd", ("server.max-fds = 9999",)),
    ],
)
def test_where_workers_run_and_what_they_may_open_stays_unless_it_was_tuned(name, kept):
    """Only their number was."""
    text = exported(name, base=OWN[name], tuned_all=False)[TARGETS[name].program]
    assert text != OWN[name]
    for line in kept:
        assert line in text


@pytest.mark.parametrize(
    ("name", "line"), [("core", "affinity = auto"), ("nginx", "worker_cpu_affinity auto;")]
)
def test_pinning_that_was_tuned_is_left_to_the_server_that_can(name, line):
    """In the user's file, in what changes in it, and in a whole one of ours."""
    program = TARGETS[name].program
    own = OWN[name].replace("affinity = 0,1\n", "").replace("worker_cpu_affinity auto;\n", "")
    files = exported(name, base=own)
    for text in (files[program], files[f"{program}-changes"], exported(name, base="")[program]):
        assert line in in_force(text)


def test_what_is_measured_of_core_is_pinned_where_the_laboratory_is():
    """And the list of production's CPUs is named."""
    core = TARGETS["core"]
    own = own_values(core, OWN["core"], 2)
    private = core.private(OWN["core"], own, (), LABORATORY)
    assert said(private, ("affinity",)) == ["affinity = 613,617"]
    assert "# affinity = 0,1 as 613,617" in private
