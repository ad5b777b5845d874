"""A run that begins with the user's own configuration file: reading it, refusing it, running it privately."""

import hashlib
import os
import sys
from pathlib import Path

import pytest
from live_support import specweb99
from trimtab_agent.base_file import read_base
from trimtab_agent.errors import SpecError
from trimtab_agent.station.file_set import FileSet
from trimtab_agent.station.leftovers import Leftovers
from trimtab_agent.station.processes.programs import find_installed
from trimtab_agent.station.server.ports import ADDRESS
from trimtab_agent.station.server.target_server import ServerOrder, TargetServer
from trimtab_agent.station.warming import warm
from trimtab_agent.stopping import StopSignal
from trimtab_agent.study.asked_space import NOWHERE
from trimtab_agent.study.run_spec import KnobSpec, RunSpec
from trimtab_agent.study.specification import check
from trimtab_tuner.roles import Role
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.editing import own_values
from trimtab_tuner.targets.in_force import noted_in

CPUS = tuple(sorted(os.sched_getaffinity(0)))
INSTALLED = {
    "nginx": Path("/etc/nginx/nginx.conf"),
    "lighttpd": Path("/etc/lighttpd/lighttpd.conf"),
    "apache": Path("/etc/apache2/apache2.conf"),
    "h2o": Path("/etc/h2o/h2o.conf"),
}


@pytest.fixture
def nginx_files(tmp_path):
    """A file with an include in it, and what it includes."""
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d" / "b.conf").write_text("sendfile on;\n")
    (tmp_path / "conf.d" / "a.conf").write_text("keepalive_timeout 9;\n")
    main = tmp_path / "nginx.conf"
    main.write_text("worker_processes 3;\nevents {}\nhttp { include conf.d/*.conf;\nserver { listen 8; } }\n")
    return main


def test_includes_are_filled_in_by_name_and_the_file_itself_is_kept(nginx_files):
    """What is read is the whole; what will be handed back is the file."""
    base = read_base(TARGETS["nginx"], nginx_files)
    assert base.text == nginx_files.read_text()
    assert TARGETS["nginx"].parse(base.expanded) == {
        "worker_processes": 3,
        "sendfile": "on",
        "keepalive_timeout": 9,
    }
    assert base.expanded.index("keepalive_timeout") < base.expanded.index("sendfile")


def test_values_of_the_file_are_the_defaults_of_the_run(nginx_files):
    """Also of knobs that are not tuned, and outside of what would be searched."""
    spec = RunSpec(target="nginx", base=str(nginx_files), knobs={"sendfile": KnobSpec(fixed="on")})
    space = check(spec).space
    assert space.default()["worker_processes"] == 3
    assert space.fixed["keepalive_timeout"] == 9
    assert "sendfile" not in {knob.name for knob in space.free}


def test_a_directory_is_included_as_the_server_takes_it(nginx_files):
    """Apache reads all files in it; nginx and lighttpd end with an error."""
    folder = nginx_files.parent / "conf.d"
    includes = (("nginx", "include conf.d;"), ("nginx", "include c*;"), ("lighttpd", 'include "conf.d"'))
    for name, line in includes:
        file = nginx_files.parent / TARGETS[name].file_name
        file.write_text(f"{line}\n")
        with pytest.raises(SpecError) as refusal:
            read_base(TARGETS[name], file)
        assert refusal.value.sentence.endswith(
            f"{folder} is a directory, which {name} refuses; expected files, such as {folder}/*.conf"
        )
    file = nginx_files.parent / "apache2.conf"
    for each in folder.iterdir():
        each.write_text("# ours\n")
    file.write_text(f"Listen 80\nInclude {folder}\n")
    base = read_base(TARGETS["apache"], file)
    assert [path for path, _ in base.sources.files[1:]] == [str(folder / "a.conf"), str(folder / "b.conf")]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("\nworker_processes many; http {}", r"nginx\.conf:2: worker_processes = many: expected a whole num"),
        ("http {", "unexpected end of file"),
        ("include none.conf;", r"nginx\.conf:1: .*expected a file at .*none.conf, there is none"),
        ("include nginx.conf;", "it includes itself"),
        ("include n*.conf;", "it includes itself"),
        ("a\0;", "expected text in UTF-8 or Latin-1"),
        ("\ufeffevents {}", "line 1: it begins with a byte-order mark, which nginx"),
    ],
)
def test_file_that_makes_no_sense_is_refused_with_a_sentence(nginx_files, text, sentence):
    """It names the file; the field is `base`."""
    nginx_files.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(SpecError, match=sentence) as refusal:
        check(RunSpec(target="nginx", base=str(nginx_files)))
    assert refusal.value.field == "base"
    assert str(nginx_files.parent) in refusal.value.sentence


def test_links_that_lead_in_a_circle_are_refused_with_a_sentence(nginx_files):
    """The file itself, and one that it includes."""
    circle = nginx_files.parent / "circle.conf"
    circle.symlink_to(circle.name)
    nginx_files.write_text("include circle.conf;")
    for path in (circle, nginx_files):
        with pytest.raises(SpecError, match=r"circle.conf: .*its links lead in a circle"):
            read_base(TARGETS["nginx"], path)


def test_includes_that_lie_too_deep_are_told_from_those_that_include_themselves(nginx_files):
    """Nothing is said of a circle where there is none."""
    for level in range(20):
        (nginx_files.parent / f"{level}.conf").write_text(f"include {level + 1}.conf;")
    nginx_files.write_text("include 0.conf;")
    with pytest.raises(SpecError, match="expected at most 16 in a row"):
        read_base(TARGETS["nginx"], nginx_files)


CRLF_AND_LATIN_1 = {
    "nginx": b"# gr\xfc\xdfe \xb3\x5c\r\nworker_processes 3;\r\nevents {}\r\nhttp { }",
    "apache": b"# gr\xfc\xdfe\r\nServerLimit 3\r\nKeepAliveTimeout 7",
    "lighttpd": b'# gr\xfc\xdfe\r\nserver.max-worker = 3\r\nserver.document-root = "/srv"',
    "h2o": "# grüße\r\nnum-threads: 3\r\nhosts:\r\n  a:\r\n    paths: {}".encode(),
    "core": b"; gr\xfc\xdfe\r\n[server]\r\nworkers = 3\r\nroot = /srv",
}


@pytest.mark.parametrize(("name", "content"), CRLF_AND_LATIN_1.items())
def test_a_file_keeps_every_byte_that_is_not_tuned(name, content, tmp_path):
    """Line breaks, bytes that are not UTF-8, a last line without an end; what is added ends as the others."""
    file, target = tmp_path / "own.conf", TARGETS[name]
    file.write_bytes(content)
    base = read_base(target, file)
    assert base.text.encode(base.encoding) == content
    own = own_values(target, base.expanded, 2)
    workers = target.space(cpus=2).of_role(Role.WORKERS).name
    tuned = ("workers",) if name == "core" else (workers,)
    assert target.changed(base.text, own, (), NOWHERE).encode(base.encoding) == content
    changed = target.changed(base.text, {**own, **dict.fromkeys(tuned, 5)}, tuned, NOWHERE)
    new = changed.encode(base.encoding)
    assert new.replace(b"\r\n", b"").count(b"\n") == 0
    before, after = content.split(b"\r\n"), new.split(b"\r\n")
    assert [line for line in before if b"3" not in line] == [line for line in after if line in before]
    assert own_values(target, changed, 2)[tuned[0]] == 5


def test_h2o_file_is_refused_for_bytes_that_h2o_refuses_and_takes_a_byte_order_mark(tmp_path):
    """By the line they stand in."""
    file = tmp_path / "h2o.conf"
    file.write_bytes(b"num-threads: 3\n# gr\xfc\xdfe\n")
    with pytest.raises(SpecError, match=r"h2o.conf: line 2: expected text in UTF-8"):
        read_base(TARGETS["h2o"], file)
    file.write_bytes(b"\xef\xbb\xbfnum-threads: 3\nhosts:\n  a:\n    paths: {}\n")
    base = read_base(TARGETS["h2o"], file)
    assert own_values(TARGETS["h2o"], base.expanded, 2)["num-threads"] == 3
    assert base.text.encode() == file.read_bytes()


def test_work_of_reading_includes_grows_with_their_number_and_no_faster(tmp_path):
    """500 included sites are read in a second: calls are counted."""
    (tmp_path / "sites").mkdir()
    file = tmp_path / "nginx.conf"

    def calls(sites):
        for number in range(sites):
            site = f"server {{ listen 80; server_name s{number}; }}\n"
            (tmp_path / f"sites/{number}.conf").write_text(site)
        includes = "".join(f"include sites/{number}.conf;\n" for number in range(sites))
        file.write_text(f"events {{}}\nhttp {{\n{includes}}}\n")
        made = 0

        def seen(_frame, event, _called):
            nonlocal made
            made += event in ("call", "c_call")

        sys.setprofile(seen)
        try:
            base = read_base(TARGETS["nginx"], file)
        finally:
            sys.setprofile(None)
        assert len(base.sources.files) == sites + 1
        return made

    assert calls(500) < 2.1 * calls(250)


def test_setting_in_an_included_file_is_tuned_there(nginx_files):
    """Also the length of the queue, where the main file, as Debian's, has no listen of its own."""
    site = nginx_files.parent / "conf.d" / "c.conf"
    site.write_text("server { listen 8; }")
    nginx_files.write_text("events {}\nhttp { include conf.d/*.conf; }\n")
    knobs = {"sendfile": KnobSpec(choices=("off", "on")), "backlog": KnobSpec(low=64, high=512)}
    plan = check(RunSpec(target="nginx", base=str(nginx_files), knobs=knobs))
    assert plan.base.sources.files[0] == (str(nginx_files), nginx_files.read_text())
    changed = TARGETS["nginx"].changed(
        plan.base.sources.marked,
        {**plan.space.default(), "sendfile": "off", "backlog": 99},
        ["sendfile", "backlog"],
        NOWHERE,
    )
    texts = plan.base.sources.apart(changed)
    assert texts[str(nginx_files)] == nginx_files.read_text()
    assert texts[str(site)] == "server { listen 8 backlog=99; }"
    assert texts[str(site.with_name("b.conf"))] == "sendfile off;\n"


def test_missing_file_is_refused(tmp_path):
    """Before anything starts."""
    with pytest.raises(SpecError, match="expected a configuration file, there is none"):
        check(RunSpec(target="h2o", base=str(tmp_path / "none")))
    with pytest.raises(SpecError, match="expected a configuration file, this is none"):
        check(RunSpec(target="h2o", base=str(tmp_path)))


@pytest.mark.live
@pytest.mark.parametrize("name", INSTALLED)
def test_file_of_the_debian_package_runs_privately(name, tmp_path):
    """The installed server's own file, untouched, serves the workload on a private port."""
    target, path = TARGETS[name], INSTALLED[name]
    program = find_installed(target.program)
    if program is None or not path.is_file():
        pytest.skip(f"{path} of {target.program} is not installed")
    before = hashlib.sha256(path.read_bytes()).digest()
    base = read_base(target, path, with_commands=True)
    files = FileSet(tmp_path / "files", specweb99(1, time_scale=0.01))
    files.prepare(lambda done, total: None, StopSignal())
    tuned = {"worker_processes": 2} if name == "nginx" else {}
    order = ServerOrder(
        program=program,
        target=target,
        configuration={**own_values(target, base.expanded, 1), **tuned},
        root=files.root,
        cpus=CPUS[:1],
        directory=tmp_path,
        name="trial-1",
        leftovers=Leftovers(tmp_path / "leftovers.json"),
        base=base.expanded,
    )
    with TargetServer(order, StopSignal()) as server:
        warm(ADDRESS, server.port, [path for path, _ in files.files], StopSignal())
        assert name != "nginx" or len(server.pids) == 3
    assert hashlib.sha256(path.read_bytes()).digest() == before


@pytest.mark.live
def test_a_limit_that_the_system_does_not_grant_is_noted_with_what_is_in_force(tmp_path):
    """More open files than any process may have, by what the worker itself may open."""
    nginx = TARGETS["nginx"]
    program = find_installed(nginx.program)
    if program is None:
        pytest.skip("nginx is not installed")
    files = FileSet(tmp_path / "files", specweb99(1, time_scale=0.01))
    files.prepare(lambda done, total: None, StopSignal())
    base = "worker_rlimit_nofile 2000000000;\nevents {}\nhttp { server { listen 80; } }\n"
    order = ServerOrder(
        program=program,
        target=nginx,
        configuration=own_values(nginx, base, 1),
        root=files.root,
        cpus=CPUS[:1],
        directory=tmp_path,
        name="trial-1",
        leftovers=Leftovers(tmp_path / "leftovers.json"),
        base=base,
    )
    with TargetServer(order, StopSignal()) as server:
        (said,) = [each for each in noted_in([server.text]) if "worker_rlimit_nofile" in each]
    assert said.endswith("open files in place of worker_rlimit_nofile 2000000000: the system allows no more")


ENVVARS = """\
unset HOME
if [ "${APACHE_CONFDIR##/etc/apache2-}" != "${APACHE_CONFDIR}" ] ; then
	SUFFIX="-${APACHE_CONFDIR##/etc/apache2-}"
else
	SUFFIX=
fi
export APACHE_LOG_DIR=/var/log/apache2$SUFFIX
export SITES="$APACHE_CONFDIR/own"  # ours
export WEB=${SITES}/web
export NOW=$(date)
#export GONE=1
"""


@pytest.fixture
def apache_files(tmp_path):
    """A main file whose includes are named by variables: of its own, of an included file, of envvars."""
    (tmp_path / "own").mkdir()
    (tmp_path / "envvars").write_text(ENVVARS)
    (tmp_path / "own" / "one.conf").write_text("Define SECOND two\nKeepAliveTimeout 7\n")
    (tmp_path / "own" / "two.conf").write_text("Include ${HERE}/three.conf\n")
    (tmp_path / "own" / "three.conf").write_text("MaxKeepAliveRequests 77\n")
    main = tmp_path / "apache2.conf"
    main.write_text(
        "Listen 80\nDefine HERE own\nInclude ${SITES}/one.conf\nInclude own/${SECOND}.conf\n"
        'IncludeOptional "${APACHE_CONFDIR}/none/*.conf"\nDocumentRoot ${WEB}\n'
        "ErrorLog ${APACHE_LOG_DIR}/error.log\n"
    )
    return main


def test_apache_s_includes_are_found_by_variables(apache_files):
    """In the order in which Apache reads them; what the file itself uses of envvars is set in what runs."""
    apache = TARGETS["apache"]
    base = read_base(apache, apache_files)
    own = apache_files.parent / "own"
    assert {path for path, _ in base.sources.files[1:]} == {
        str(own / f"{name}.conf") for name in ("one", "two", "three")
    }
    assert apache.parse(base.expanded) == {"KeepAliveTimeout": 7, "MaxKeepAliveRequests": 77}
    defined = f'Define WEB "{own}/web"\nServerRoot "{apache_files.parent}"\nListen 80\n'
    assert base.expanded.startswith(defined)
    tuned = {**own_values(apache, base.expanded, 1), "KeepAliveTimeout": 9}
    changed = apache.changed(base.sources.marked, tuned, ["KeepAliveTimeout"], NOWHERE)
    assert base.sources.apart(changed)[str(own / "one.conf")] == "Define SECOND two\nKeepAliveTimeout 9\n"
    assert base.sources.apart(changed)[str(apache_files)] == apache_files.read_text()


def test_relative_includes_of_apache_begin_at_its_server_root(tmp_path):
    """As Red Hat lays them out, the main file lies elsewhere; a variable may name the root."""
    for folder in ("conf", "conf.d", "conf/conf.d"):
        (tmp_path / folder).mkdir()
    (tmp_path / "conf.d" / "a.conf").write_text("KeepAliveTimeout 7\n")
    (tmp_path / "conf" / "conf.d" / "b.conf").write_text("KeepAliveTimeout 8\n")
    main = tmp_path / "conf" / "httpd.conf"
    main.write_text(f'Define ROOT "{tmp_path}"\nServerRoot "${{ROOT}}"\nListen 80\nInclude conf.d/*.conf\n')
    base = read_base(TARGETS["apache"], main)
    assert [path for path, _ in base.sources.files[1:]] == [str(tmp_path / "conf.d" / "a.conf")]


def test_an_include_of_apache_under_a_condition_may_have_no_file(tmp_path):
    """Apache says whether it misses one; one that is there is read."""
    (tmp_path / "there.conf").write_text("KeepAliveTimeout 7\n")
    main = tmp_path / "apache2.conf"
    missing = "Include none.conf\nInclude ${UNKNOWN}/a.conf\n"
    section = f"<IfModule proxy_html_module>\n{missing}Include there.conf\n</IfModule>\n"
    main.write_text(f"Listen 80\n{section}")
    base = read_base(TARGETS["apache"], main)
    assert "Include none.conf\nInclude ${UNKNOWN}/a.conf\nKeepAliveTimeout 7\n" in base.expanded
    main.write_text("Listen 80\nInclude none.conf\n")
    with pytest.raises(SpecError, match=r"none\.conf: expected a file at .*/none\.conf, there is none"):
        read_base(TARGETS["apache"], main)


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("nginx", "events {}\nhttp {\n  server { listen {{ port }}; }\n}\n", 3),
        ("h2o", "listen: 80\n{{ range .Hosts }}\nhosts:\n", 2),
    ],
)
def test_a_template_is_refused_as_such(name, text, line, tmp_path):
    """With what to give instead of it."""
    file = tmp_path / TARGETS[name].file_name
    file.write_text(text)
    with pytest.raises(SpecError, match=rf"{file}:{line}: this looks like a template .* expected the file"):
        read_base(TARGETS[name], file)


@pytest.mark.parametrize("name", ["ELSEWHERE", "NOW", "GONE", "LATER"])
def test_an_include_of_apache_whose_variable_cannot_be_known_is_refused_by_name(apache_files, name):
    """What a shell would make of it, and what is set behind it."""
    apache_files.write_text(f"Listen 80\nInclude ${{{name}}}/a.conf\nDefine LATER own\n")
    with pytest.raises(SpecError) as refusal:
        read_base(TARGETS["apache"], apache_files)
    assert refusal.value.sentence == (
        f"{apache_files}:2: include ${{{name}}}/a.conf: expected its variables set by Define above it, or in "
        f"{apache_files.parent}/envvars"
    )


def test_definitions_of_apache_that_double_each_other_do_not_fill_the_memory(apache_files):
    """An include behind them is still found."""
    doubling = "Define A a\n" + "Define A ${A}${A}\n" * 40
    apache_files.write_text(f"{doubling}Define HERE own\nInclude ${{HERE}}/one.conf\n")
    base = read_base(TARGETS["apache"], apache_files)
    assert [path for path, _ in base.sources.files[1:]] == [str(apache_files.parent / "own" / "one.conf")]


def test_lighttpd_s_includes_are_found_by_settings_above_them(tmp_path):
    """As distributions name the directory of their files; what cannot be known is refused by name."""
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d" / "a.conf").write_text('var.more = conf_dir + "/more"\nserver.max-fds = 99\n')
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "b.conf").write_text("server.max-worker = 4\n")
    main = tmp_path / "lighttpd.conf"
    main.write_text(
        f'var.conf_dir = "{tmp_path}"\nserver.document-root = "/srv"\n'
        'include conf_dir + "/conf.d/a.conf"\ninclude var.more + "/*.conf"\n'
    )
    lighttpd = TARGETS["lighttpd"]
    base = read_base(lighttpd, main)
    assert lighttpd.parse(base.expanded) == {"server.max-fds": 99, "server.max-worker": 4}
    assert not [each for each in lighttpd.told(base.sources.whole) if each.kind == "refused"]
    main.write_text('server.document-root = "/srv"\ninclude env.OF_NOBODY + "/a.conf"\n')
    unknown = r'lighttpd.conf:2: include env.OF_NOBODY \+ "/a.conf": what its name is'
    with pytest.raises(SpecError, match=unknown):
        check(RunSpec(target="lighttpd", base=str(main)))


def test_lighttpd_s_includes_are_found_by_the_environment_and_what_is_added_to_a_setting(
    tmp_path, monkeypatch
):
    """That of whoever starts Trimtab, which the measured server has too."""
    monkeypatch.setenv("OF_SOMEBODY", str(tmp_path))
    (tmp_path / "a-b.conf").write_text("server.max-worker = 4\n")
    main = tmp_path / "lighttpd.conf"
    main.write_text(
        'var.name = env.OF_SOMEBODY + "/a"\nvar.name += "-b"\nserver.document-root = "/srv"\n'
        'include var.name + ".conf"\n'
    )
    base = read_base(TARGETS["lighttpd"], main)
    assert [path for path, _ in base.sources.files[1:]] == [str(tmp_path / "a-b.conf")]
