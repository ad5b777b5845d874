"""Keys that whoever runs Trimtab may not read: made ones of the same kind stand in their place."""

import os
import pwd
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import whole_files
from trimtab_agent.base_file import read_base
from trimtab_agent.results.exporting import verdict
from trimtab_agent.station.own_file_check import keys_made, require_measurable
from trimtab_agent.station.processes.programs import find_installed
from trimtab_agent.station.server import made_keys, own_copies, unresolved
from trimtab_agent.station.server.certificates import KeyKind, kind_of, make_pair
from trimtab_agent.station.server.checking import IN_THE_CHECK, check_file
from trimtab_agent.station.server.made_keys import with_made_keys
from trimtab_agent.study.own_file_report import in_words
from trimtab_agent.study.run_spec import RunSpec
from trimtab_agent.study.specification import check
from trimtab_tuner.exports import Check
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderContext
from trimtab_tuner.targets.editing import own_values
from trimtab_tuner.targets.servers.apache.rendering import MODULES

CPUS = (0,)
SERVERS = ("nginx", "apache", "lighttpd", "h2o")
CONTEXT = RenderContext(root="/srv", listen=("127.0.0.1:18090",), prefix="/x", server_cpus=CPUS)


@pytest.fixture
def guarded(monkeypatch):
    """Files that an ordinary user who runs Trimtab may not read, for the test to add to."""
    paths = set()
    monkeypatch.setattr(made_keys, "is_guarded", lambda path: path in paths)
    monkeypatch.setattr(own_copies.os, "geteuid", lambda: 1000)
    return paths


@pytest.fixture(params=SERVERS)
def secret(request, tmp_path, guarded):
    """A server's file with two sites over TLS, the keys of which hold nothing that a server could use."""
    target = TARGETS[request.param]
    program = find_installed(target.program)
    if program is None:
        pytest.skip(f"{target.program} is not installed")
    (tmp_path / "run").mkdir()
    words = {"PORT": 18080, "TLS": 18443, "BACKEND": 18081, "DIR": tmp_path}
    whole_files.written(tmp_path, target.name, "tls", words)
    for path in (*tmp_path.glob("*.key"), *tmp_path.glob("*.pem")):
        path.write_text("of no use\n")
        guarded.add(path)
    return target, program, read_base(target, tmp_path / target.file_name, with_commands=True)


def test_server_starts_with_made_keys_in_place_of_those_that_may_not_be_read(secret):
    """It accepts the private copy, which none but the made ones could have it do."""
    target, program, base = secret
    require_measurable(target, base, own_values(target, base.expanded, 1), CPUS, program)


def test_dry_run_and_measured_file_tell_of_the_made_keys(secret, tmp_path):
    """A line for each pair, with the kind, which is that of the certificate."""
    target, _, base = secret
    values = own_values(target, base.expanded, 1)
    told = keys_made(target, base, values)
    assert len(told) == 2
    assert all(line.endswith("may not be read by this user") for line in told)
    for name in ("a.example", "b.example"):
        (line,) = (each for each in told if f"{tmp_path}/{name}." in each)
        alone = target.name == "lighttpd" and name == "a.example"  # key and certificate in one file
        made = (
            "a made one in place of yours, RSA of 2,048 bits"
            if alone
            else "made ones in place of yours, EC on"
        )
        assert made in line
    private = target.private(base.expanded, values, (), CONTEXT)
    changed = with_made_keys(target, private, tmp_path / "tls")
    assert [line for line in changed.splitlines() if "place of yours" in line] == [
        f"# {each}" for each in told
    ]
    plan = check(RunSpec(target=target.name, base=base.path))
    said = in_words(plan.told(made_keys=told))
    assert {f"- {each}" for each in told} <= set(said)
    # The sites still speak TLS, which is not to sound as if it were with those keys.
    assert [
        ", but for those in whose place are made ones." in each for each in said if " TLS, and" in each
    ] == [True]
    assert "made ones" not in " ".join(in_words(plan.told()))


def test_export_is_checked_with_made_keys_and_says_so(secret, tmp_path, programs):
    """It is not refused for what only its own user may read; nothing is left beside it."""
    target, _, base = secret
    (folder := tmp_path / "exports").mkdir()
    (file := folder / target.file_name).write_text(base.text)
    context = replace(CONTEXT, root=str(tmp_path), prefix=str(folder), error_log=str(folder / "error.log"))
    private = target.private(base.expanded, own_values(target, base.expanded, 1), (), context)
    checked = Check(target.program, target.check_command, private)
    _, accepted, output = check_file(checked, file, programs.httpd_path)
    assert accepted, output
    assert output.count(IN_THE_CHECK) == 2
    assert list(folder.iterdir()) == [file]


def test_export_is_not_refused_for_a_name_that_does_not_resolve_here(tmp_path, monkeypatch, programs):
    """A line says what its server's check had in its place."""
    nginx = TARGETS["nginx"]
    if find_installed(nginx.program) is None:
        pytest.skip("nginx is not installed")
    monkeypatch.setattr(unresolved, "unresolved", lambda upstreams: {each.address for each in upstreams})
    (folder := tmp_path / "exports").mkdir()
    (file := folder / "nginx.conf").write_text("")
    text = "events {}\nhttp { upstream b { server app.invalid:3000; } server { listen 8; } }\n"
    context = replace(CONTEXT, root=str(tmp_path), prefix=str(folder), error_log=str(folder / "error.log"))
    private = nginx.private(text, nginx.space().default(), (), context)
    checked = Check(nginx.program, nginx.check_command, private)
    _, accepted, output = check_file(checked, file, programs.httpd_path)
    assert accepted, output
    said = "upstream b app.invalid:3000 at 127.77.255.254: its name does not resolve here"
    assert output.splitlines()[-1] == f"{IN_THE_CHECK}{said}"


def test_outcome_tells_what_stood_in_the_place_of_a_key_in_the_check():
    """Beside that the server accepted the file; what the server itself said is its own matter."""
    output = f"syntax is ok\n{IN_THE_CHECK}key /a: a made one"
    export = SimpleNamespace(format="nginx", check_ok=True, check_command="nginx -t", check_output=output)
    told = verdict(export, SimpleNamespace(outcome=None, target="nginx"))
    assert told == f"accepted by its server's own check. {IN_THE_CHECK}key /a: a made one"


def test_script_is_told_to_be_readable_and_not_to_be_accepted_by_a_server():
    """Only a shell has looked at it."""
    export = SimpleNamespace(
        format="affinity", check_ok=True, check_command="sh -n /x/affinity.sh", check_output=""
    )
    told = verdict(export, SimpleNamespace(outcome=None, target="nginx"))
    assert told == "a script that the shell can read (`sh -n`)"


@pytest.mark.parametrize(
    "kind", [KeyKind(bits=3072), KeyKind("EC", curve="secp384r1"), KeyKind("ED25519")], ids=str
)
def test_made_pair_is_of_the_kind_and_size_of_the_certificate(tmp_path, kind):
    """As a handshake with another takes another time; it is made once, for its owner's eyes only."""
    make_pair(tmp_path / "a.pem", kind)
    assert kind_of(tmp_path / "a.pem") == kind
    before = (tmp_path / "a.pem").read_bytes()
    make_pair(tmp_path / "a.pem", KeyKind())
    assert (tmp_path / "a.pem").read_bytes() == before
    assert (tmp_path / "a.pem").stat().st_mode & 0o777 == 0o600
    key = subprocess.run(("openssl", "pkey", "-noout", "-in", str(tmp_path / "a.pem")), check=False)
    assert key.returncode == 0


def test_key_goes_with_its_own_certificate(tmp_path, guarded):
    """Also where another stands alone, or several stand together."""
    rsa, curve, alone = (tmp_path / name for name in ("rsa.pem", "ec.pem", "alone.pem"))
    make_pair(rsa, KeyKind(bits=3072))
    make_pair(curve, KeyKind("EC", curve="prime256v1"))
    guarded |= {tmp_path / "rsa.key", tmp_path / "ec.key"}
    lines = [f"ssl_certificate {path};" for path in (alone, rsa, curve)]
    lines += [f"ssl_certificate_key {tmp_path}/{name}.key;" for name in ("rsa", "ec")]
    text = "http {{ server {{\n{}\n}} }}\n".format("\n".join(lines))
    pairs = made_keys.guarded(TARGETS["nginx"], text)
    assert [[each.value for each in pair.named] for pair in pairs] == [
        [str(rsa), f"{tmp_path}/rsa.key"],
        [str(curve), f"{tmp_path}/ec.key"],
    ]
    assert [str(pair.kind()) for pair in pairs] == ["RSA of 3,072 bits", "EC on prime256v1"]


def test_root_reads_keys_itself(tmp_path):
    """Where nothing is hidden, nothing is made; what is missing is the server's to tell."""
    (tmp_path / "a.key").write_text("")
    assert not made_keys.is_guarded(tmp_path / "a.key")
    assert not made_keys.is_guarded(tmp_path / "none.key")


@contextmanager
def as_nobody():
    """This process, which is root's, with whatever it starts, is nobody's meanwhile."""
    groups, nobody = os.getgroups(), pwd.getpwnam("nobody")
    os.setgroups([])
    os.setresgid(nobody.pw_gid, nobody.pw_gid, 0)
    os.setresuid(nobody.pw_uid, nobody.pw_uid, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)
        os.setresgid(0, 0, 0)
        os.setgroups(groups)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")
@pytest.mark.parametrize("name", SERVERS)
def test_ordinary_user_measures_a_file_whose_key_only_root_may_read(name):
    """Its server takes the private copy, though neither the user nor it can read the key."""
    target = TARGETS[name]
    program = find_installed(target.program)
    if program is None:
        pytest.skip(f"{target.program} is not installed")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "run").mkdir()
        whole_files.written(
            folder, name, "tls", {"PORT": 18080, "TLS": 18443, "BACKEND": 18081, "DIR": folder}
        )
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        keys = [each for each in folder.iterdir() if each.is_file() and "PRIVATE KEY" in each.read_text()]
        for key in keys:
            key.chmod(0o600)
        with as_nobody():
            base = read_base(target, folder / target.file_name, with_commands=True)
            values = own_values(target, base.expanded, 1)
            require_measurable(target, base, values, CPUS, program)
            told = keys_made(target, base, values)
        assert len(told) == 2
        assert all(any(f"as {key} may not be read by this user" in line for key in keys) for line in told)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_file_of_another_user_is_guarded(tmp_path):
    """And so is one in a folder that nobody may look into."""
    (tmp_path / "a.key").touch(mode=0)
    assert made_keys.is_guarded(tmp_path / "a.key")


def test_site_whose_certificate_apache_would_fetch_is_checked_with_a_made_one(tmp_path):
    """Apache takes the private copy, in which nobody is asked; without the made file it would refuse that."""
    target = TARGETS["apache"]
    program = find_installed(target.program)
    if program is None:
        pytest.skip(f"{target.program} is not installed")
    modules = "".join(
        f"LoadModule {name}_module {MODULES}/mod_{name}.so\n"
        for name in ("mpm_event", "authz_core", "mime", "dir", "ssl", "socache_shmcb", "md")
    )
    site = "<VirtualHost *:443>\n  ServerName a.example\n  SSLEngine on\n</VirtualHost>\n"
    file = tmp_path / target.file_name
    file.write_text(f'{modules}ServerRoot "{tmp_path}"\nListen 443\nMDomain a.example\n{site}')
    base = read_base(target, file)
    require_measurable(target, base, own_values(target, base.expanded, 1), CPUS, program)
    private = target.private(base.expanded, own_values(target, base.expanded, 1), (), CONTEXT)
    own_copies.with_readable(target, private.replace("/x/", f"{tmp_path}/"), tmp_path, tmp_path / "kept")
    assert kind_of(tmp_path / "made.pem") == KeyKind()
    assert (tmp_path / "made.pem").stat().st_mode & 0o077 == 0
