"""How files are read, held against the servers themselves: what they include, what they take values for."""

import re
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trimtab_agent.base_file import read_base
from trimtab_agent.station.processes.programs import find_installed
from trimtab_agent.station.server.ports import ADDRESS, HeldPorts
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderContext
from trimtab_tuner.targets.editing import own_of_all

LIMIT_S = 60


def said_by(name, *arguments, environment=None):
    """What the server prints; skips where it is not installed."""
    program = find_installed(TARGETS[name].program)
    if program is None:
        pytest.skip(f"{name} is not installed")
    done = subprocess.run(
        [program, *arguments], capture_output=True, text=True, check=False, timeout=LIMIT_S, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_nginx_includes_the_files_that_we_follow(tmp_path):
    """In the same order: patterns, folders in folders, quotes, what matches nothing."""
    for folder in ("conf.d", "sites", "snippets"):
        (tmp_path / folder).mkdir()
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    own = "".join(f"{kind}_temp_path {tmp_path}/{kind}; " for kind in kinds)
    texts = {
        "nginx.conf": (
            f"pid {tmp_path}/nginx.pid;\nevents {{}}\nhttp {{ access_log off; {own}\n"
            'include conf.d/*.conf; include "sites/[ab].conf"; include none/*.conf; }\n'
        ),
        "conf.d/b.conf": "sendfile on;\n",
        "conf.d/a.conf": "map $host $a { include snippets/map; }\n",
        "conf.d/c.conf.off": "nonsense;\n",
        "snippets/map": "default 1;\n",
        "snippets/tls.conf": "keepalive_timeout 7;\n",
        "sites/a.conf": f"server {{ listen unix:{tmp_path}/a; include 'snippets/tls.conf'; }}\n",
        "sites/b.conf": f"server {{ listen unix:{tmp_path}/b; }}\n",
        "sites/c.conf": "nonsense;\n",
    }
    for path, text in texts.items():
        (tmp_path / path).write_text(text)
    file = tmp_path / "nginx.conf"
    said = said_by("nginx", "-T", "-q", "-e", "stderr", "-p", str(tmp_path), "-c", str(file))
    theirs = re.findall(r"^# configuration file (\S+):$", said, re.MULTILINE)
    base = read_base(TARGETS["nginx"], file)
    assert sorted(path for path, _ in base.sources.files) == sorted(theirs)
    assert len(theirs) == 7


def test_nginx_takes_logs_that_are_gathered(tmp_path):
    """With and without a format, a condition or a time of their own; several into one file."""
    nginx = TARGETS["nginx"]
    text = (
        "events {}\nhttp { log_format own $uri; map $uri $logged { default 1; }\n"
        "access_log /v/a.log; server { listen 80; access_log /v/b.log own if=$logged; }\n"
        "server { listen 81; access_log /v/a.log; }\n"
        "server { listen 82; access_log /v/c.log own flush=1m buffer=1m; access_log /v/$host.log own; } }\n"
    )
    with HeldPorts() as held:
        listen = f"{ADDRESS}:{held.take()}"
    context = RenderContext(root=str(tmp_path), listen=(listen,), prefix=str(tmp_path))
    file = tmp_path / "nginx.conf"
    for size in (65_536, 0):
        configuration = {**own_of_all(nginx, text, 1), "access_log_buffer": size}
        file.write_text(nginx.private(text, configuration, ["access_log_buffer"], context))
        said_by("nginx", "-t", "-q", "-e", "stderr", "-p", str(tmp_path), "-c", str(file))


def test_apache_includes_the_files_that_we_follow(tmp_path):
    """By variables of the file and of its environment too."""
    (tmp_path / "own").mkdir()
    (tmp_path / "envvars").write_text(f"export APACHE_CONFDIR={tmp_path}\nexport SITES={tmp_path}/own\n")
    (tmp_path / "own" / "a.conf").write_text("Define NEXT c\nTimeout 7\n")
    (tmp_path / "own" / "b.conf").write_text("Timeout 8\n")
    (tmp_path / "c.conf").write_text("Timeout 9\n")
    file = tmp_path / "apache2.conf"
    file.write_text(
        f"ServerRoot {tmp_path}\nServerName x\nListen 127.0.0.1:8\n"
        "LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so\n"
        f"PidFile {tmp_path}/pid\nErrorLog /dev/null\n"
        "IncludeOptional ${SITES}/*.conf\nInclude ${NEXT}.conf\n"
        "IncludeOptional ${APACHE_CONFDIR}/none/*.conf\n"
    )
    environment = {"APACHE_CONFDIR": str(tmp_path), "SITES": f"{tmp_path}/own", "PATH": "/usr/bin:/bin"}
    said = said_by("apache", "-t", "-D", "DUMP_INCLUDES", "-f", str(file), environment=environment)
    theirs = re.findall(r"^ *\((?:\*|\d+)\) (\S+)$", said, re.MULTILINE)
    base = read_base(TARGETS["apache"], file)
    assert [path for path, _ in base.sources.files] == theirs
    assert len(theirs) == 4


MACRO_WORDS = st.sampled_from(
    ["a", "$x", "$xy", "@q", "%p", "b c", r"d\"e", r"f\g", r"h\\i", "it's", "${KNOWN}", "$(y)", ""]
)


@st.composite
def macros(draw: st.DrawFn) -> str:
    """Two macros, the second of which uses the first, and uses of both."""
    names = draw(
        st.lists(st.sampled_from(["$x", "$xy", "@q", "%p", "$(y)", "plain"]), unique=True, max_size=3)
    )
    quoted = st.builds(lambda word, quote: f"{quote}{word}{quote}", MACRO_WORDS, st.just('"'))
    said = st.lists(st.one_of(st.sampled_from([*names, "z", "plainly"]), MACRO_WORDS), max_size=3)
    body = [f'  SetEnv A{number} "{"".join(draw(said))}"' for number in range(2)]
    given_inside = " ".join(draw(st.sampled_from([*(f"'{name}'" for name in names), "one"])) for _ in names)
    given = [" ".join(draw(quoted) for _ in names) for _ in range(2)]
    lines = [
        "Define KNOWN known",
        f"<macro Inner {' '.join(names)}>",
        *body,
        "</MACRO>",
        f"<Macro Outer {' '.join(names)} >",
        "  # $x \\",
        "  goes on",
        "  <VirtualHost *:8>",
        f"    Use Inner {given_inside}",
        "  </VirtualHost>",
        "</Macro>",
        f"use INNER {given[0]}",
        "<IfModule macro_module>",
        f"  Use Outer \\\n  {given[1]}",
        "</IfModule>",
    ]
    return "\n".join(lines) + "\n"


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=macros())
def test_apache_puts_in_the_macros_as_we_do(text, tmp_path):
    """Whatever it makes of the file with its macros, it makes of the one where they are put in."""
    modules = "/usr/lib/apache2/modules"
    (tmp_path / "conf").mkdir(exist_ok=True)
    head = f"ServerRoot {tmp_path}\nServerName x\nListen 127.0.0.1:8\nPidFile {tmp_path}/pid\n"
    head += "ErrorLog /dev/null\n"
    for name in ("mpm_event", "authz_core", "macro", "env", "info"):
        head += f"LoadModule {name}_module {modules}/mod_{name}.so\n"
    file = tmp_path / "apache2.conf"
    file.write_text(head + text)
    theirs = configuration_of_apache(file)
    expanded = read_base(TARGETS["apache"], file).expanded
    if theirs is not None:
        assert not re.search(r"^\s*use\b", expanded.rpartition("</Macro>")[2], re.MULTILINE | re.IGNORECASE)
    file.write_text(expanded)
    assert configuration_of_apache(file) == theirs


def configuration_of_apache(file):
    """The directives that Apache has read, without their places; None where it refuses the file."""
    program = find_installed("apache2")
    if program is None:
        pytest.skip("apache is not installed")
    asked = [program, "-t", "-D", "DUMP_CONFIG", "-f", str(file)]
    done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    lines = [line for line in done.stdout.splitlines() if not line.lstrip().startswith("#")]
    return lines if done.returncode == 0 else None


NUMBERS = st.integers(1, 60_000)
OTHERS = st.lists(
    st.sampled_from(
        [
            "# server.max-worker = 9",
            'server.tag = "server.max-fds = 9"',
            '$HTTP["host"] == "a" {\n  server.max-keep-alive-idle = 9\n}',
            'index-file.names = (\n  "a", # )\n  "b"\n)',
            "var.spare = 7",
        ]
    ),
    unique=True,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(workers=NUMBERS, idle=NUMBERS, backlog=NUMBERS, others=OTHERS, crlf=st.booleans(), data=st.data())
def test_lighttpd_takes_the_values_that_we_read(workers, idle, backlog, others, crlf, data, tmp_path):
    """As it prints them: outside of conditions, made of variables, overridden, in any order."""
    own = [
        f"var.n = {workers}\nserver.max-worker = var.n",
        f"server.max-keep-alive-idle = 3\nserver.max-keep-alive-idle := {idle}",
        f"server.listen-backlog={backlog} # ours",
    ]
    lines = ['server.document-root = "/srv"', *data.draw(st.permutations([*own, *others]))]
    text = "\n".join(lines) + "\n"
    file = tmp_path / "lighttpd.conf"
    file.write_text(text.replace("\n", "\r\n") if crlf else text, newline="")
    said = said_by("lighttpd", "-p", "-f", str(file))
    top = re.split(r"^\s*\$", said, maxsplit=1, flags=re.MULTILINE)[0]
    theirs = dict(re.findall(r"^\s*(server\.[\w-]+)\s*=\s*\"?([^\"\n]*)", top, re.MULTILINE))
    read = TARGETS["lighttpd"].parse(read_base(TARGETS["lighttpd"], file).expanded)
    assert read == {
        "server.max-worker": workers,
        "server.max-keep-alive-idle": idle,
        "server.listen-backlog": backlog,
    }
    assert {name: str(value) for name, value in read.items()} == {name: theirs[name] for name in read}
