"""`trimtab check FILE`: what in a file contradicts this machine, where it stands, and the exit code."""

import json
import sys
from pathlib import Path

import pytest
from trimtab_agent import checked_file
from trimtab_agent.checked_file import asks_server
from trimtab_agent.host.allowed import Machine
from trimtab_agent.study import specification
from trimtab_agent.study.run_spec import RunSpec
from trimtab_tuner.checking.machine import Descriptors
from trimtab_tuner.targets import TARGETS, sources
from trimtab_tuner.targets.servers.nginx import syntax

MACHINE = Machine(
    cpus=2.0,
    online=(0, 1),
    allowed=(0, 1),
    descriptors=Descriptors(1024, 4096, "nginx (process 7)"),
    somaxconn=128,
)
MAIN = """worker_processes 2;
events { worker_connections 512; }
http {
    include sites/*.conf;
    open_file_cache max=100;
}
"""
SITE = """# one site
server {
    listen 80 backlog=4096;
}
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    """An nginx.conf that includes a site, on a machine with short queues."""
    monkeypatch.setattr(checked_file, "machine_for", lambda *_: MACHINE)
    (tmp_path / "sites").mkdir()
    (tmp_path / "sites/a.conf").write_text("")
    (tmp_path / "sites/b.conf").write_text(SITE)
    (tmp_path / "nginx.conf").write_text(MAIN)
    return tmp_path / "nginx.conf"


def test_finding_names_the_included_file_and_its_line(command, file):
    """As the user has them; exit code 4, and nothing on standard error."""
    code, output, errors = command("check", str(file))
    assert (code, errors) == (4, "")
    site = file.parent / "sites/b.conf"
    assert f"{site}:3: warning: listen 80 backlog=4096: an accept queue of 4,096 is cut to 128" in output
    assert "    evidence: net.core.somaxconn = 128\n" in output
    assert f"{file}: 1 contradiction." in output


def test_json_has_every_finding_with_place_and_evidence(command, file):
    """For a pipeline."""
    code, output, _ = command("check", "--json", str(file))
    assert code == 4
    document = json.loads(output)
    (found,) = document["found"]
    assert (document["target"], found["rule"], found["line"]) == ("nginx", "backlog-above-somaxconn", 3)
    assert found["file"].endswith("sites/b.conf")
    assert found["evidence"] == ["net.core.somaxconn = 128"]


def test_notes_alone_and_nothing_at_all_end_with_0(command, file):
    """A queue that nobody asked for is a note."""
    (file.parent / "sites/b.conf").write_text("server { listen 80; }\n")
    code, output, _ = command("check", str(file))
    assert code == 0
    assert f"{file}: note: An accept queue of 511 is cut to 128" in output
    (file.parent / "sites/b.conf").write_text("server { listen 80 backlog=100; }\n")
    said = f"nothing that contradicts this machine. The server was not asked: nginx -t -c {file}"
    assert command("check", str(file))[:2] == (0, f"{file}: {said}\n")


@pytest.mark.parametrize(
    ("name", "asking"),
    [
        ("nginx", "nginx -t -c"),
        ("apache", "apachectl -t -f"),
        ("lighttpd", "lighttpd -tt -f"),
        ("h2o", "h2o -t -c"),
    ],
)
def test_command_that_asks_the_server_itself_is_named_with_the_whole_path(
    name, asking, tmp_path, monkeypatch
):
    """As an administrator would type it; the document of --json has it too."""
    monkeypatch.chdir(tmp_path)
    assert asks_server(TARGETS[name], Path("a b.conf")) == f"{asking} '{tmp_path}/a b.conf'"


def test_clean_file_and_one_that_is_not_name_the_server_s_own_check_in_json(command, file):
    """For a pipeline, which may ask both."""
    assert json.loads(command("check", "--json", str(file))[1])["check_command"] == f"nginx -t -c {file}"


UNCLOSED = {
    "list": (
        "lighttpd.conf",
        'server.port = 80\nserver.modules = (\n  "mod_access",\n',
        2,
        "this list is not closed",
    ),
    "condition": (
        "lighttpd.conf",
        'server.port = 80\n$HTTP["host"] == "a" {\n',
        2,
        "this block is not closed",
    ),
    "string": (
        "lighttpd.conf",
        'server.port = 80\nserver.name = "a\nserver.tag = "b"\n',
        2,
        'the string that begins here has no " at its end',
    ),
    "section": ("apache2.conf", "Listen 80\n<Directory /srv>\n", 2, "<Directory> is not closed"),
    "crossed sections": (
        "apache2.conf",
        "Listen 80\n<VirtualHost *:80>\n<Files x>\n</VirtualHost>\n",
        3,
        "<Files> is not closed before </VirtualHost>",
    ),
}


@pytest.mark.parametrize(("name", "text", "line", "sentence"), UNCLOSED.values(), ids=UNCLOSED)
def test_what_is_not_closed_is_bad_input_with_its_line(command, tmp_path, name, text, line, sentence):
    """In an included file too, with that one's own line."""
    file = tmp_path / name
    file.write_text(text)
    assert command("check", str(file)) == (2, "", f"trimtab: {file}:{line}: {sentence}\n")
    part = file.rename(tmp_path / "part")
    first, include = (
        ("Listen 80\n", "Include") if name == "apache2.conf" else ("server.port = 80\n", "include")
    )
    file.write_text(f'{first}\n{include} "{part}"\n')
    part.write_text(text.replace(first, "\n"))
    assert command("check", str(file)) == (2, "", f"trimtab: {part}:{line}: {sentence}\n")


@pytest.mark.parametrize(
    ("text", "called"),
    [
        (MAIN, "an nginx.conf"),
        ('server.port = 80\nserver.document-root = "/srv"\n', "a lighttpd.conf"),
        ("ServerRoot /srv\nListen 80\n<Directory /srv>\n</Directory>\n", "an apache2.conf"),
        ("listen: 80\nhosts:\n  a:\n    paths: {}\n", "a h2o.conf"),
    ],
)
def test_server_is_known_by_the_text_where_the_file_s_name_does_not_say_it(command, file, text, called):
    """And it is said, so that nobody is misled; the document names the target."""
    other = file.rename(file.parent / "x.conf")
    other.write_text(text)
    _, output, errors = command("check", str(other))
    said = f"{other}: this looks like {called}, and is checked as one (--target says otherwise)."
    assert (output.splitlines()[0], errors) == (said, "")
    document = json.loads(command("check", "--json", str(other))[1])
    assert document["target"] in said


def test_server_is_to_be_named_where_nothing_says_it(command, file):
    """With what it looks like, where that is no server that Trimtab tunes."""
    other = file.rename(file.parent / "x.conf")
    other.write_text("# nothing yet\n")
    code, _, errors = command("check", str(other))
    assert code == 2
    assert "neither its name nor its text says which server reads it; expected --target with one of" in errors
    other.write_text("frontend a\n  bind *:80\n")
    assert "it looks like a haproxy.cfg, which Trimtab does not tune" in command("check", str(other))[2]
    assert command("check", str(other), "--target", "iis")[0] == 2
    other.unlink()
    assert "expected a configuration file, there is none" in command("check", str(other))[2]


def test_file_that_cannot_be_read_is_bad_input(command, file):
    """With its path, and the line where there is one."""
    code, _, errors = command("check", str(file.parent / "none/nginx.conf"))
    assert (code, "expected a configuration file, there is none" in errors) == (2, True)
    (file.parent / "sites/b.conf").write_text("server {\n  listen 80 }\n")
    assert command("check", str(file))[0] == 2


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        (
            "nginx.conf",
            f"http {{\n{'a {' * 3000}{'}' * 3000}\n}}\n",
            "line 2: expected at most 100 blocks in each other",
        ),
        ("h2o.conf", f"hosts: {'[' * 20_000}", "expected fewer lists and mappings in each other"),
        ("h2o.conf", f"{'- ' * 20_000}a", "expected fewer lists and mappings in each other"),
    ],
)
def test_blocks_without_end_are_bad_input(command, tmp_path, name, text, sentence):
    """In one sentence, whoever reads the file: before a run too."""
    file = tmp_path / name
    file.write_text(text)
    said = (2, "", f"trimtab: {file}: {sentence}\n")
    assert command("check", str(file)) == said
    target = name.partition(".")[0]
    assert command("tune", "--dry-run", "--target", target, "--base", str(file)) == said


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("nginx.conf", "# a\nserver { listen 80; }\n", "2: server outside of a block http: this is a part"),
        ("apache2.conf", "<VirtualHost *:80>\n</VirtualHost>\n", "1: a virtual host alone is a part"),
        ("lighttpd.conf", 'url.access-deny = ( "~" )\n', "1: nothing of the server as a whole"),
        ("h2o.conf", "paths:\n  /: {file.dir: /a}\n", "1: paths without hosts: this is a part"),
    ],
)
def test_a_part_of_a_file_is_refused_with_what_to_give_instead(command, tmp_path, name, text, sentence):
    """Nothing in it could be held against the machine as the server would read it."""
    file = tmp_path / name
    file.write_text(text)
    code, output, errors = command("check", str(file))
    assert (code, output) == (2, "")
    assert errors.startswith(f"trimtab: {file}:{sentence}")
    assert "expected" in errors


@pytest.mark.parametrize("option", ["check", "tune"])
def test_a_file_without_a_site_to_measure_is_checked_and_not_tuned(command, tmp_path, option):
    """It is no part of another file; in one sentence."""
    file = tmp_path / "nginx.conf"
    file.write_text("events {}\nstream {}\n")
    if option == "check":
        assert command("check", str(file))[0] == 0
    else:
        code, output, errors = command("tune", "--dry-run", "--target", "nginx", "--base", str(file))
        assert (code, output) == (2, "")
        assert errors == (
            f"trimtab: {file}:1: there is no block http, and so no site that could be measured; expected an "
            "nginx.conf with one\n"
        )


def test_a_large_file_is_looked_through_once(command, tmp_path, monkeypatch):
    """However much is found in it: its text and its lines are gone through as often as of a small one."""
    monkeypatch.setattr(checked_file, "machine_for", lambda *_: MACHINE)
    gone_through = []
    for name in ("unmarked", "_parts"):
        whole = getattr(sources, name)
        monkeypatch.setattr(sources, name, lambda text, whole=whole: gone_through.append(text) or whole(text))
    often = []
    for sites in (2, 300):
        file = tmp_path / "nginx.conf"
        servers = "server { listen 80 backlog=4096; }\n" * sites
        file.write_text(f"events {{}}\nhttp {{\n{servers}}}\n")
        gone_through.clear()
        _, output, _ = command("check", str(file))
        assert f"{file}: {sites} contradictions." in output
        assert f"{file}:{sites + 2}: warning: listen 80 backlog=4096" in output
        often.append(len(gone_through))
    assert often[0] == often[1]


def test_check_changes_nothing(command, file):
    """Neither the file nor what lies beside it."""
    before = {path: path.stat().st_mtime_ns for path in file.parent.rglob("*")}
    command("check", str(file))
    assert {path: path.stat().st_mtime_ns for path in file.parent.rglob("*")} == before


def test_lines_of_an_apache2_conf_are_those_of_the_user(command, tmp_path, monkeypatch):
    """Whatever has to stand above the file for it to be read elsewhere: its directory, its variables."""
    monkeypatch.setattr(checked_file, "machine_for", lambda *_: MACHINE)
    file = tmp_path / "apache2.conf"
    file.write_text("Listen 80\nServerLimit 4\nMaxRequestWorkers 3000\nDocumentRoot ${WEB}\n")
    (tmp_path / "envvars").write_text("export WEB=/srv\n")
    code, output, _ = command("check", str(file))
    assert code == 4
    assert f"{file}:3: error: MaxRequestWorkers 3000: ServerLimit 4 with 25 threads each allows 100" in output


SITES = {
    "nginx": (
        "events {{}}\nhttp {{\n{}}}\n",
        (
            "server {{ listen 443 ssl; server_name s{0}; root /srv; ssl_certificate /c.pem; sendfile off; "
            "location / {{ proxy_pass http://127.0.0.1:{1}; }} }}\n"
        ),
    ),
    "apache": (
        "Listen 80\nLoadModule mpm_event_module m.so\n{}",
        (
            "<VirtualHost *:80>\nServerName s{0}\nSSLEngine on\nKeepAliveTimeout {1}\nDocumentRoot /srv\n"
            "ProxyPass /a http://127.0.0.1:{1}/\n</VirtualHost>\n"
        ),
    ),
    "lighttpd": (
        'server.document-root = "/srv"\n{}',
        (
            '$HTTP["host"] == "s{0}" {{\n server.max-keep-alive-idle = {1}\n ssl.engine = "enable"\n'
            ' proxy.server = ( "" => ( ( "host" => "127.0.0.1", "port" => {1} ) ) )\n}}\n'
        ),
    ),
    "h2o": (
        "listen: 80\nhosts:\n{}",
        (
            "  s{0}:\n    listen: {{port: 443, ssl: {{key-file: /k, certificate-file: /c}}}}\n"
            "    paths: {{/: {{proxy.reverse.url: 'http://127.0.0.1:{1}/'}}}}\n"
        ),
    ),
}


@pytest.mark.parametrize("target", SITES)
def test_work_on_a_file_grows_with_its_sites_and_no_faster(target, tmp_path, monkeypatch):
    """To check it, and to tell what a run does with it: eight times the sites take eight times as many
    instructions of Python, not 64.
    """
    monkeypatch.setattr(checked_file, "machine_for", lambda *_: MACHINE)
    whole, site = SITES[target]
    file = tmp_path / TARGETS[target].file_name
    run = []

    def counting(frame, *_):
        frame.f_trace_opcodes = True
        run[-1] += 1
        return counting

    for sites in (15, 120):
        file.write_text(whole.format("".join(site.format(number, 9000 + number) for number in range(sites))))
        run.append(0)
        before = sys.gettrace()
        sys.settrace(counting)
        try:
            checked_file.checked(TARGETS[target], file)
            specification.check(RunSpec(target=target, base=str(file))).told()
        finally:
            sys.settrace(before)
    assert run[1] < 8 * run[0]


def test_each_file_is_read_and_parsed_once_and_the_whole_twice(file, monkeypatch):
    """As it stands, and with its paths made absolute: however many rules ask what it says."""
    monkeypatch.setattr(checked_file, "machine_for", lambda *_: MACHINE)
    for number in range(20):
        name = file.parent / f"sites/{number}.conf"
        name.write_text(
            f"server {{ listen 80; server_name s{number}; root www; location / {{ return 200; }} }}\n"
        )
    parsed, tokens = [], syntax._tokens
    monkeypatch.setattr(syntax, "_tokens", lambda text: parsed.append(text) or tokens(text))
    read, read_bytes = [], Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read.append(path) or read_bytes(path))
    syntax.parse.cache_clear()
    checked_file.checked(TARGETS["nginx"], file)
    assert sorted(read) == sorted(path for path in file.parent.rglob("*.conf"))
    assert len(parsed) == len(read) + 2
