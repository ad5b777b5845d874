"""What is told of the user's own file before a run, and mistakes that are told in its own lines."""

import os
from pathlib import Path

import pytest
from trimtab_agent.base_file import read_base
from trimtab_agent.errors import SpecError
from trimtab_agent.station import own_file_check
from trimtab_agent.station.own_file_check import require_measurable
from trimtab_agent.station.processes.programs import find_installed
from trimtab_agent.station.server import unresolved
from trimtab_agent.study.own_file_report import in_words, of_text, refuse_told
from trimtab_agent.study.run_spec import RunSpec
from trimtab_agent.study.specification import check
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderContext
from trimtab_tuner.targets.editing import own_values
from trimtab_tuner.targets.private import named_in

CPUS = tuple(sorted(os.sched_getaffinity(0)))[:1]
CONTEXT = RenderContext(root="/srv", listen=("127.0.0.1:80",))


@pytest.fixture
def nginx_files(tmp_path):
    """A main file without a listen, and the site that it includes."""
    (tmp_path / "sites").mkdir()
    site = "# ours\nserver {\n    listen 80;\n    sendfile off; # never on: NFS\n}\nserver { listen 81; }\n"
    (tmp_path / "sites" / "a.conf").write_text(site)
    main = "env TOKEN;\nworker_processes 2; # do not change\nevents {}\nhttp {\n    sendfile on;\n"
    (tmp_path / "nginx.conf").write_text(f"{main}    access_log /var/log/a.log;\n    include sites/*;\n}}\n")
    return tmp_path / "nginx.conf"


def test_every_change_exception_and_warning_has_a_line_with_its_place(nginx_files):
    """In the file that it stands in, an included one too."""
    lines = in_words(check(RunSpec(target="nginx", base=str(nginx_files)), cpus=2).told())
    site = nginx_files.parent / "sites" / "a.conf"
    for line in (
        f"{nginx_files}, with 1 included: {site}",
        (
            "Tuned: worker_processes (now 2), worker_connections (now 512), multi_accept (now off), "
            "sendfile (now on)."
        ),
        "- listen 80; at 127.77.0.1:PORT",
        "- access_log /var/log/a.log; to DIRECTORY/access_log-1.log",
        f"- {nginx_files}:1: env TOKEN: its value in the measured server is that of whoever starts Trimtab",
        f"- {nginx_files}:2: worker_processes: do not change",
        f"- {site}:4: sendfile off stays: a tuned sendfile does not apply there",
        f"- {site}:4: sendfile: never on: NFS",
    ):
        assert line in lines, line


def test_a_pasted_text_is_told_of_without_its_includes():
    """What a run with the file would change, and what it would refuse."""
    nginx = TARGETS["nginx"]
    http = "http {\n include a;\n perl_modules x;\n server { listen 80; } }"
    text = f"worker_processes 2; # leave\nevents {{}}\n{http}"
    lines = of_text(nginx, text, nginx.space())
    assert lines[0] == "line 4: a is not read here"
    assert lines[1].startswith("line 5: perl_modules x: Perl would run")
    assert "listen 80; at 127.77.0.1:PORT" in lines
    assert "line 1: worker_processes: leave" in lines
    (lonely,) = of_text(TARGETS["h2o"], "num-threads: 3\n", TARGETS["h2o"].space())
    assert lonely.startswith("hosts: expected one such line")


def test_a_knob_that_is_kept_stays_as_it_is_in_the_file(nginx_files):
    """Outside of what a search would try, too; one that is unknown or narrowed as well is refused."""
    nginx_files.write_text(nginx_files.read_text().replace("processes 2", "processes 900"))
    plan = check(RunSpec(target="nginx", base=str(nginx_files), keep=("worker_processes",)))
    assert plan.space.fixed["worker_processes"] == 900
    assert "worker_processes" not in {knob.name for knob in plan.space.free}
    assert not any("worker_processes" in line for line in in_words(plan.told()))
    for spec, sentence in (
        ({"keep": ("x",)}, "keep: x"),
        ({"knobs": {"sendfile": {"fixed": "on"}}}, "narrowed"),
    ):
        with pytest.raises(SpecError, match=sentence) as refusal:
            check(RunSpec(target="nginx", base=str(nginx_files), **{"keep": ("sendfile",), **spec}))
        assert refusal.value.field == "keep"


def test_how_much_of_an_access_log_is_gathered_is_tuned_where_somebody_asks(nginx_files):
    """Before, it is told what that costs; a file without such a log has no such knob."""
    plain = check(RunSpec(target="nginx", base=str(nginx_files)))
    assert plain.space.fixed["access_log_buffer"] == 0
    lines = in_words(plain.told())
    cost = next(line for line in lines if line.startswith(f"- {nginx_files}:6: access_log /var/log/a.log "))
    assert lines[lines.index(cost) - 1] == "Logs, which stay on:"
    assert "Lines then come up to 5 s later, and those that are gathered are lost if nginx is killed" in cost
    asked = {"access_log_buffer": {"choices": (0, 65_536)}}
    plan = check(RunSpec(target="nginx", base=str(nginx_files), knobs=asked))
    assert plan.space.free[-1].choices == (0, 65_536)
    assert "access_log_buffer (now 0)" in in_words(plan.told())[1]
    nginx_files.write_text(nginx_files.read_text().replace("access_log /var/log/a.log", "access_log off"))
    assert "access_log_buffer" not in check(RunSpec(target="nginx", base=str(nginx_files))).space.default()
    with pytest.raises(SpecError, match="access_log_buffer: no such knob"):
        check(RunSpec(target="nginx", base=str(nginx_files), knobs=asked))


def test_logs_on_another_kind_of_file_system_are_told(nginx_files, monkeypatch):
    """Each folder once; one that is not there is the check's to tell."""
    nginx_files.write_text(
        nginx_files.read_text().replace("env TOKEN;", "env TOKEN; error_log /none/e.log; ")
        + "# access_log /srv/b.log;\n"
    )
    kinds = {"/var/log": "xfs", "/here": "ext4", "/same": "xfs"}
    monkeypatch.setattr(
        own_file_check, "file_systems", lambda paths: {path: kinds.get(path) for path in paths}
    )
    nginx = TARGETS["nginx"]
    base = read_base(nginx, nginx_files)
    assert own_file_check.logs_elsewhere(nginx, base, Path("/same")) == ()
    (said,) = own_file_check.logs_elsewhere(nginx, base, Path("/here"))
    assert said.startswith("logs in /var/log lie on xfs, those of a trial in /here on ext4: ")
    lines = in_words(check(RunSpec(target="nginx", base=str(nginx_files))).told({}, (), (said,)))
    assert f"- {said}" in lines[lines.index("Logs, which stay on:") :]


def test_an_exception_from_what_is_not_tuned_is_not_told(nginx_files):
    """It is as it was."""
    told = check(RunSpec(target="nginx", base=str(nginx_files), knobs={"sendfile": {"fixed": "on"}})).told()
    assert not [line for line in told.lines if line.kind == "stays"]


@pytest.mark.parametrize(
    ("target", "text", "sentence"),
    [
        ("nginx", "server { listen 80; }", "nginx.conf:1: server outside of a block http"),
        ("nginx", "Listen 80\nLoadModule a b\n", "this looks like an apache2.conf: --target apache"),
        ("lighttpd", "worker_processes 1;\nevents {}\nhttp {}", "this looks like an nginx.conf"),
    ],
)
def test_what_is_no_such_file_is_refused_by_what_it_is(target, text, sentence, nginx_files):
    """Not in the parser's words."""
    nginx_files.write_text(text)
    with pytest.raises(SpecError, match=sentence) as refusal:
        check(RunSpec(target=target, base=str(nginx_files)))
    assert refusal.value.field == "base"


def test_the_output_of_a_command_is_read_once_like_an_included_file(tmp_path):
    """Its settings are those of the file, and what it opens gets a private address."""
    file = tmp_path / "lighttpd.conf"
    file.write_text('server.document-root = "/srv"\nserver.port = 8123\n')
    with file.open("a") as more:
        more.write(f'include_shell "{tmp_path}/ports " + server.port\n')
    script = tmp_path / "ports"
    script.write_text(
        f"#!/bin/sh\necho run >>{tmp_path}/runs\necho '$SERVER[\"socket\"] == \"[::]:'$1'\" {{ }}'\n"
        "echo 'accesslog.filename = \"/var/log/x\"'\n"
    )
    script.chmod(0o755)
    plan = check(RunSpec(target="lighttpd", base=str(file)), cpus=1)
    assert (tmp_path / "runs").read_text() == "run\n"
    lines = in_words(plan.told())
    assert '- $SERVER["socket"] == "[::]:8123" at 127.77.0.2:PORT' in lines
    assert any(line.startswith('- accesslog.filename = "/var/log/x" to DIRECTORY') for line in lines)
    # Who only looks at the file runs nothing.
    assert "include_shell" in read_base(TARGETS["lighttpd"], file).expanded
    assert (tmp_path / "runs").read_text() == "run\n"
    script.write_text("#!/bin/sh\necho no >&2\nexit 3\n")
    with pytest.raises(SpecError, match=r"include_shell .*ports 8123: it ended with exit code 3: no"):
        check(RunSpec(target="lighttpd", base=str(file)))


NGINX = "events {}\nhttp {\n include a.conf;\n}\n"


@pytest.mark.parametrize(
    ("name", "text", "included", "place", "words"),
    [
        (
            "nginx",
            "events {}\nhttp {\n include a.conf;\n}\n",
            "\nserver { listen 8; }\nnonsense 1;",
            3,
            "nonsense",
        ),
        ("nginx", "events {}\nhttp {\n include a.conf;\n}\n", "\nbrotli on;", 2, "libnginx-mod-http-brotli"),
        ("apache", "Listen 80\nServerName x\nInclude a.conf\n", "\n\nNonsense 1", 3, "Nonsense"),
        # Of these the server names no line.
        (
            "nginx",
            "events {}\nhttp {\n include a.conf;\n}\n",
            "server { listen 8 ssl;\nssl_certificate /none/c.pem;\nssl_certificate_key /none/c.key; }",
            2,
            "cannot load certificate",
        ),
        (
            "lighttpd",
            'server.document-root = "/srv"\nserver.modules = ("mod_openssl")\ninclude "a.conf"\n',
            '$SERVER["socket"] == ":8" {\n ssl.engine = "enable"\n ssl.pemfile = "/none/c.pem"\n}\n',
            3,
            "No such file",
        ),
    ],
)
def test_a_mistake_is_told_before_the_first_trial_by_file_and_line(
    name, text, included, place, words, tmp_path
):
    """Before the first trial, in the server's own words; never by the copy that was checked."""
    target = TARGETS[name]
    program = find_installed(target.program)
    if program is None:
        pytest.skip(f"{target.program} is not installed")
    file = tmp_path / target.file_name
    file.write_text(text)
    (tmp_path / "a.conf").write_text(included)
    base = read_base(target, file)
    with pytest.raises(SpecError) as refusal:
        require_measurable(target, base, own_values(target, base.expanded, 1), CPUS, program)
    said = refusal.value.sentence
    assert said.startswith(f"{tmp_path}/a.conf:{place}: {name} refuses it: ")
    assert words in said
    assert "trimtab-check" not in said


def test_the_reason_of_a_refusal_is_told_without_what_is_said_each_time(tmp_path):
    """That the syntax is right, and how OpenSSL came to its error."""
    nginx, h2o = TARGETS["nginx"], TARGETS["h2o"]
    site = "  a:\n    listen: {port: 80, ssl: {certificate-file: /none.pem, key-file: /none.key}}\n"
    texts = {
        nginx: ("http { server { listen 80; } }\n", 'no "events" section in configuration'),
        h2o: (f"hosts:\n{site}    paths: {{/: {{file.dir: /srv}}}}\n", "certificate file:/none.pem"),
    }
    for target, (text, ends) in texts.items():
        program = find_installed(target.program)
        if program is None:
            continue
        file = tmp_path / target.file_name
        file.write_text(text)
        base = read_base(target, file)
        with pytest.raises(SpecError) as refusal:
            require_measurable(target, base, own_values(target, base.expanded, 1), CPUS, program)
        assert refusal.value.sentence.endswith(ends)
        assert ";" not in refusal.value.sentence


def test_a_part_that_is_included_is_no_mistake_of_the_main_file(tmp_path):
    """The server says itself what the whole lacks."""
    lighttpd = TARGETS["lighttpd"]
    (tmp_path / "part.conf").write_text('url.redirect = ( "/a" => "/b" )\n')
    main = tmp_path / "lighttpd.conf"
    main.write_text('include "part.conf"\n')
    refuse_told(lighttpd, read_base(lighttpd, main))
    with pytest.raises(SpecError, match=r"a part that a lighttpd\.conf includes"):
        refuse_told(lighttpd, read_base(lighttpd, tmp_path / "part.conf"))


def test_upstreams_that_are_not_there_are_told_with_their_places(nginx_files):
    """By their names, with why."""
    site = nginx_files.parent / "sites" / "a.conf"
    site.write_text(
        "upstream b { server app:3000; }\nserver {\n listen 80;\n proxy_pass http://1.2.3.4;\n}\n"
    )
    plan = check(RunSpec(target="nginx", base=str(nginx_files)))
    missing = {"app:3000": "its name does not resolve here", "1.2.3.4:80": "nobody listens"}
    lines = in_words(plan.told(missing))
    place = "127.77.255.254 takes its place, where nobody listens"
    assert f"- {site}:1: upstream b app:3000: its name does not resolve here, so that {place}" in lines
    assert f"- {site}:4: proxy_pass 1.2.3.4:80: nobody listens" in lines
    assert not any(line.startswith("Upstreams") for line in in_words(plan.told()))


def test_a_name_that_is_not_known_here_does_not_keep_nginx_from_starting(nginx_files, monkeypatch):
    """An address where nobody listens takes its place, and that is told."""
    nginx = TARGETS["nginx"]
    program = find_installed(nginx.program)
    if program is None:
        pytest.skip("nginx is not installed")

    def unknown(upstreams):
        return {each.address for each in upstreams if each.address == "app.invalid:3000"}

    monkeypatch.setattr(unresolved, "unresolved", unknown)
    upstream = "upstream b { server app.invalid:3000; server 127.0.0.1:9; }"
    text = f"events {{}}\nhttp {{ {upstream} server {{ listen 8; }} }}\n"
    nginx_files.write_text(text)
    base = read_base(nginx, nginx_files)
    require_measurable(nginx, base, own_values(nginx, base.expanded, 1), CPUS, program)
    private = nginx.private(text, nginx.space().default(), (), CONTEXT)
    measured = unresolved.with_resolvable(nginx, private, unresolved.Names())
    assert "server 127.77.255.254:3000; server 127.0.0.1:9;" in measured
    assert named_in(measured)[0] == (
        "upstream b app.invalid:3000 at 127.77.255.254: its name does not resolve here"
    )


def test_numbers_that_apache_corrects_are_told_in_its_own_words_and_as_we_reckon_them(tmp_path):
    """With the line of the file, and by Apache's own check: both come to the same."""
    apache = TARGETS["apache"]
    program = find_installed(apache.program)
    if program is None:
        pytest.skip("apache2 is not installed")
    file = tmp_path / "apache2.conf"
    file.write_text("ServerName x\nListen 80\nServerLimit 4\nMaxRequestWorkers 3000\n")
    base = read_base(apache, file)
    said = require_measurable(apache, base, own_values(apache, base.expanded, 1), CPUS, program)
    assert any("MaxRequestWorkers of 3000" in each and each.endswith("decreasing to 100") for each in said)
    lines = in_words(check(RunSpec(target="apache", base=str(file))).told({}, said))
    assert f"- apache2 says: {said[0]}" in lines
    reckoned = f"- {file}:4: MaxRequestWorkers 3000: Apache takes 100, as ServerLimit 4"
    assert any(line.startswith(reckoned) for line in lines)


def test_what_a_command_of_a_pasted_lighttpd_conf_sets_is_not_set_beside_it():
    """Its output is not read there: it is no file to refuse, and what may stand once is not added."""
    text = 'server.port = 80\ninclude_shell "/usr/share/lighttpd/create-mime.conf.pl"\n'
    lighttpd = TARGETS["lighttpd"]
    lines = of_text(lighttpd, text, lighttpd.space())
    assert lines[0] == "line 2: /usr/share/lighttpd/create-mime.conf.pl is not read here"
    assert not any("include_shell" in line for line in lines)
    own = own_values(lighttpd, text, 1)
    assert "mimetype.assign" not in lighttpd.private(text, own, (), CONTEXT)
    assert "mimetype.assign" in lighttpd.private("server.port = 80\n", own, (), CONTEXT)


NGINX_PROXY = "events {}\nhttp { server { listen 80; location / { proxy_pass http://127.0.0.1:9001; } } }\n"
H2O_PROXY = (
    "listen: 80\nhosts:\n  a:\n    paths:\n      /:\n        proxy.reverse.url: http://127.0.0.1:9001/\n"
)
OVER_TLS = {
    "nginx": (
        "events {}\nhttp {\n server { listen 80; return 301 https://a; }\n server {\n  listen 443 ssl;\n"
        "  server_name shop.example;\n  ssl_certificate /c.pem;\n  ssl_certificate_key /c.key;\n }\n}\n"
    ),
    "apache": (
        "Listen 80\nListen 443\nLoadModule mpm_event_module m.so\n<VirtualHost *:443>\nSSLEngine on\n"
        "ServerName shop.example\nSSLCertificateFile /c.pem\nSSLCertificateKeyFile /c.key\n</VirtualHost>\n"
    ),
    "lighttpd": (
        'server.document-root = "/srv"\nserver.port = 80\n$SERVER["socket"] == ":443" {\n'
        ' ssl.engine = "enable"\n ssl.pemfile = "/c.pem"\n ssl.privkey = "/c.key"\n}\n'
    ),
    "h2o": (
        "listen: 80\nhosts:\n  shop.example:\n    listen:\n      port: 443\n      ssl:\n"
        "        certificate-file: /c.pem\n        key-file: /c.key\n    paths: {}\n"
    ),
}


@pytest.mark.parametrize(("target", "line"), [("nginx", 4), ("apache", 4), ("lighttpd", 4), ("h2o", 6)])
def test_whether_a_site_of_tls_is_measured_so_is_told_by_its_name(target, line, tmp_path):
    """With what becomes of its certificates; a file without such a site has no such line."""
    file = tmp_path / TARGETS[target].file_name
    file.write_text(OVER_TLS[target])
    site = '$SERVER["socket"] == ":443"' if target == "lighttpd" else "shop.example"

    def lines(workload):
        told = check(RunSpec(target=target, base=str(file), workload=workload)).told()
        return [(each.line, each.text) for each in told.lines if "TLS" in each.text], told.lines

    ((number, plain),), told = lines("specweb99")
    assert number == line
    assert plain.startswith(f"{site} speaks TLS, and this workload asks in plain text: ")
    assert plain.endswith("--workload specweb99-tls")
    assert not any("/c.pem" in each.text for each in told)
    ((number, secure),), told = lines("specweb99-tls")
    assert number == line
    assert secure.startswith(f"{site} speaks TLS, and so does the workload, with certificates that the run ")
    assert any("/c.pem from DIRECTORY/tls/rsa.pem" in each.text for each in told)
    assert secure.endswith("It asks over HTTP/1.1; --workload specweb99-h2 asks over HTTP/2")
    ((_, over_http2),), _ = lines("specweb99-h2")
    assert "HTTP/1.1" not in over_http2
    without = OVER_TLS[target].replace("ssl.engine", "x").replace("SSLEngine on", "").replace(" ssl;", ";")
    file.write_text(without.replace("      ssl:", "      other:"))
    assert lines("specweb99")[0] == []


def test_many_sites_of_tls_are_one_line(tmp_path):
    """With the names of the first."""
    file = tmp_path / "nginx.conf"
    sites = "".join(f"server {{ listen 443 ssl; server_name s{number}; }}\n" for number in range(9))
    file.write_text(f"events {{}}\nhttp {{\n{sites}}}\n")
    (said,) = [
        each for each in check(RunSpec(target="nginx", base=str(file))).told().lines if "TLS" in each.text
    ]
    assert said.text.startswith("s0, s1, s2, s3, s4 and 4 more speak TLS, and this workload asks in plain")
    assert said.line == 3


@pytest.mark.parametrize(
    ("target", "text", "place", "sentence"),
    [
        (
            "nginx",
            "events { worker_connections 900; }\nworker_rlimit_nofile 65535;\nhttp { server {} }\n",
            2,
            "worker_rlimit_nofile 65535: nginx takes 1000 here, the hard limit on open files (ulimit -Hn)",
        ),
        (
            "lighttpd",
            'server.document-root = "/srv"\nserver.max-fds = 65535\nserver.max-connections = 300\n',
            2,
            "server.max-fds 65535: lighttpd takes 1000 here, the hard limit on open files (ulimit -Hn)",
        ),
        (
            "h2o",
            "max-connections: 4096\nlisten: 80\nhosts:\n  a: {paths: {}}\n",
            0,
            "4096 connections of one process, as the file allows: h2o has 1000 open files for them here",
        ),
        (
            "apache",
            "Listen 80\nThreadLimit 600\nThreadsPerChild 600\nMaxRequestWorkers 600\n",
            0,
            "1800 connections of one process, as the file allows: apache2 has 1000 open files for them here",
        ),
    ],
)
def test_a_limit_above_what_the_system_allows_is_told_with_both_figures(
    target, text, place, sentence, tmp_path
):
    """Before the run; what the system allows is not told."""
    file = tmp_path / TARGETS[target].file_name
    file.write_text(text)
    plan = check(RunSpec(target=target, base=str(file)))
    (said,) = [each for each in plan.told(descriptors=1000).lines if each.kind == "corrected"]
    assert said.text.startswith(sentence)
    assert (said.line, said.file) == (place, str(file) if place else "")
    assert "corrected" not in {each.kind for each in plan.told(descriptors=1_000_000).lines}
    assert "corrected" not in {each.kind for each in plan.told().lines}


@pytest.mark.parametrize(("target", "text"), [("nginx", NGINX_PROXY), ("h2o", H2O_PROXY)])
def test_a_workload_of_files_says_that_it_asks_nothing_of_upstreams(target, text, tmp_path):
    """And which would; one that hands requests on says nothing of that."""
    file = tmp_path / TARGETS[target].file_name
    file.write_text(text)
    (said,) = [
        each.text
        for each in check(RunSpec(target=target, base=str(file))).told().lines
        if each.kind == "site"
    ]
    assert said.startswith(
        "this workload asks for files, and nothing of what your file hands on to 127.0.0.1:9001; --workload "
    )
    assert ("--upstream NAME=measured" in said) == (target == "nginx")
    told = check(RunSpec(target=target, base=str(file), workload="proxy")).told()
    assert "site" not in {each.kind for each in told.lines}
