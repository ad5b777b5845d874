"""Runs with the user's own file on the command line: exit codes, what is told, what is recorded."""

import json
import os
import re
import subprocess
import sys

import pytest
from live_support import tiny_options, tiny_spec
from trimtab_agent.recording.sampler import Sampler
from trimtab_agent.results import exporting
from trimtab_agent.station.processes.programs import find_installed
from trimtab_db.records import RunState
from trimtab_tuner.targets import TARGETS

NGINX = """worker_processes 1;
events { worker_connections 512; }
http { proxy_buffering %s; server { listen 80; location / { proxy_pass http://127.0.0.1:9; } } }
"""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("events {}\nhttp {\n nonsense on;\n}\n", 'nginx.conf:3: nginx refuses it: unknown directive "non'),
        ("events {}\nhttp {\n", " (http in line 2 is not closed)"),
        ("events {}\nhttp { include none.conf; }\n", "expected a file at "),
        ("server { listen 80; }\n", "nginx.conf:1: server outside of a block http"),
    ],
)
def test_a_bad_file_is_told_by_its_own_lines_and_no_run_begins(command, tmp_path, text, sentence):
    """Exit code 2; there is nothing to resume."""
    if find_installed(TARGETS["nginx"].program) is None:
        pytest.skip("nginx is not installed")
    file = tmp_path / "nginx.conf"
    file.write_text(text)
    code, _, errors = command("tune", "--target", "nginx", "--base", str(file))
    assert code == 2
    assert sentence in errors
    assert str(file) in errors
    assert "resume" not in errors
    assert "trimtab-check" not in errors
    assert json.loads(command("runs", "--json")[1]) == []


def test_a_file_that_is_named_from_where_the_server_is_started_is_told_by_its_line(command, tmp_path):
    """As the examples of h2o name their certificates."""
    if find_installed(TARGETS["h2o"].program) is None:
        pytest.skip("h2o is not installed")
    file = tmp_path / "h2o.conf"
    file.write_text(
        "listen:\n  port: 8081\n  ssl:\n    certificate-file: examples/none.crt\n"
        "    key-file: examples/none.key\nhosts:\n  a:\n    paths: {/: {file.dir: /srv}}\n"
    )
    code, _, errors = command("tune", "--dry-run", "--target", "h2o", "--base", str(file))
    assert code == 2
    assert re.search(rf"{file}:[45]: h2o refuses it: .*examples/none", errors), errors


def test_a_mistake_behind_a_warning_is_told_with_its_own_line(command, tmp_path):
    """Apache warns of what it passes over before it says what it refuses."""
    if find_installed(TARGETS["apache"].program) is None:
        pytest.skip("apache2 is not installed")
    file = tmp_path / "apache2.conf"
    file.write_text("NameVirtualHost *:80\nListen 80\nNoSuchWord a\n")
    code, _, errors = command("tune", "--dry-run", "--target", "apache", "--base", str(file))
    assert code == 2
    assert f"{file}:3: apache refuses it: " in errors
    assert f"Syntax error on {file}:3: Invalid command 'NoSuchWord'" in errors


def test_a_module_that_is_missing_is_told_where_the_file_names_it(command, tmp_path):
    """lighttpd says no line of it."""
    if find_installed(TARGETS["lighttpd"].program) is None:
        pytest.skip("lighttpd is not installed")
    file = tmp_path / "lighttpd.conf"
    file.write_text('server.document-root = "/srv"\nserver.port = 81\nserver.modules += ( "mod_none" )\n')
    code, _, errors = command("tune", "--dry-run", "--target", "lighttpd", "--base", str(file))
    assert code == 2
    assert f"{file}:3: lighttpd refuses it: " in errors
    assert "It needs the module mod_none" in errors


def test_dry_run_starts_nothing(command, tmp_path, monkeypatch):
    """No counter is sampled for what is only told."""
    if find_installed(TARGETS["nginx"].program) is None:
        pytest.skip("nginx is not installed")
    started = []
    monkeypatch.setattr(Sampler, "start", lambda self: started.append(self))
    file = tmp_path / "nginx.conf"
    file.write_text("events {}\nhttp { server { listen 80; } }\n")
    code, output, errors = command("tune", "--dry-run", "--target", "nginx", "--base", str(file))
    assert (code, bool(output), started) == (0, True, []), errors


def test_root_of_a_container_has_its_file_checked_though_it_may_not_read_everything(tmp_path):
    """The folder that the check makes is the server's own."""
    if find_installed(TARGETS["nginx"].program) is None or os.geteuid() != 0:
        pytest.skip("nginx is not installed, or this is not root")
    file = tmp_path / "nginx.conf"
    file.write_text("events {}\nhttp { server { listen 80; } }\n")
    tried = subprocess.run(
        [
            *("setpriv", "--bounding-set", "-dac_read_search", "--inh-caps", "-dac_read_search"),
            *(sys.executable, "-c", "from trimtab_agent.terminal.main import main; main()"),
            *("tune", "--dry-run", "--target", "nginx", "--base", str(file)),
        ],
        env={**os.environ, "TRIMTAB_VAR": str(tmp_path / "var")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert tried.returncode == 0, tried.stderr
    assert "Tuned: worker_processes" in tried.stdout


def test_a_run_without_an_answer_ends_with_1(simulated, command):
    """Whoever waits for it in a script is told, with why."""
    simulated.happens("disturbed", trials=tuple(range(2, 60)))
    code, _, errors = command("tune", *tiny_options(budget_trials=2))
    assert code == 1
    assert "trimtab: run 1 has no answer: " in errors


def test_an_export_fails_for_a_translation_only_where_it_is_asked_for(simulated, command, monkeypatch):
    """What was measured is accepted, so the run's files are there to be used."""
    code, _, errors = command("tune", *tiny_options(budget_trials=1))
    assert code == 0, errors
    check_file = exporting.check_file

    def refusing(check, file, httpd):
        if check is not None and check.program == "nginx":
            return "nginx -t", False, "unknown directive"
        return check_file(check, file, httpd)

    monkeypatch.setattr(exporting, "check_file", refusing)
    code, output, _ = command("export", "1")
    assert code == 0
    assert "nginx.conf: not accepted: unknown directive" in output
    assert "is the file that was measured, not a replacement" in output or "nothing to put in place" in output
    assert command("export", "1", "--format", "nginx")[0] == 1


def test_two_files_are_each_measured_with_what_they_say_of_proxying(simulated, runtime, tmp_path):
    """The old one's buffers are none of the new one's."""
    files = [tmp_path / name for name in ("old.conf", "new.conf")]
    for file, buffering in zip(files, ("on", "off"), strict=True):
        file.write_text(NGINX % buffering)
    old, new = map(str, files)
    spec = tiny_spec(confirmation_repeats=2).model_copy(
        update={
            "preset": "compare",
            "target": "nginx",
            "workload": "proxy",
            "base": old,
            "new_base": new,
            "knobs": {},
        }
    )
    run_id = runtime.service.start(spec)
    runtime.service.wait()
    assert runtime.repository.run(run_id).state is RunState.FINISHED, runtime.repository.run(run_id).error
    said = {
        trial.configuration["file"]: "proxy_buffering off" in trial.server_config
        for trial in runtime.repository.whole_trials(run_id)
    }
    assert said == {"old": False, "new": True}
