"""The command line as a process: exit codes, signals, what is printed."""

import io
import json
import os
import signal
import socket
import subprocess
import sys

import httpx
import pytest
from live_support import Tune, tiny_options, wait_until_gone
from trimtab_agent.runtime import open_repository, this_host
from trimtab_db.records import NewRun, RunState


def state_of(settings, run_id):
    """The recorded state of a run."""
    with open_repository(settings) as repository:
        return repository.run(run_id).state


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_stops_the_run_and_leaves_no_children(going_on, trimtab, settings, number):
    """Ctrl-C and SIGTERM: exit code 130, children gone, the run stopped and resumable."""
    command: Tune = trimtab("tune", *going_on)
    command.wait_for_line("calibrating, ETA")
    children = command.descendants()
    command.process.send_signal(number)
    code, output = command.finish()
    assert code == 130
    assert "Stopping: finished trials are kept" in output
    assert "Resume with: trimtab tune --resume 1" in output
    wait_until_gone(children)
    assert state_of(settings, 1) is RunState.STOPPED


def test_second_ctrl_c_ends_at_once(going_on, trimtab, settings):
    """Whoever cannot wait is not made to; the kernel ends the children."""
    command: Tune = trimtab("tune", *going_on)
    command.wait_for_line("calibrating, ETA")
    children = command.descendants()
    os.kill(command.process.pid, signal.SIGSTOP)  # so that both arrive before the first has had its effect
    command.process.send_signal(signal.SIGINT)
    command.process.send_signal(signal.SIGTERM)
    os.kill(command.process.pid, signal.SIGCONT)
    code, _ = command.finish()
    assert code in (-signal.SIGINT, -signal.SIGTERM)
    wait_until_gone(children)
    assert state_of(settings, 1) is RunState.INTERRUPTED


def test_killed_tune_leaves_no_children_and_an_interrupted_run_that_resumes(going_on, trimtab, settings):
    """kill -9 of the agent: its children die with it, its run is found `interrupted` and goes on."""
    command: Tune = trimtab("tune", *going_on)
    command.wait_for_line("calibrating, ETA")
    children = command.descendants()
    command.process.kill()
    command.process.wait()
    wait_until_gone(children)
    listed: Tune = trimtab("runs", "--json")
    code, output = listed.finish()
    (line,) = json.loads(output)
    assert (code, line["state"]) == (0, "interrupted")
    resumed: Tune = trimtab("tune", "--resume", "1")
    resumed.wait_for_line("calibrating, ETA")
    resumed.process.send_signal(signal.SIGINT)
    assert resumed.finish()[0] == 130


def test_second_tune_is_a_conflict_that_names_the_run(going_on, trimtab):
    """Exit code 3, from another process as well."""
    first: Tune = trimtab("tune", *going_on)
    first.wait_for_line("calibrating, ETA")
    code, output = trimtab("tune", *tiny_options()).finish()
    assert code == 3
    assert f"run 1 is running on this machine (process {first.process.pid}, its directory is" in output
    first.process.send_signal(signal.SIGINT)
    first.finish()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--preset", "fast"], "preset = 'fast': expected one of quick, standard"),
        (["--budget", "0"], "budget_trials = 0: too small for one trial"),
        (["--seed", "-1"], "seed = -1: "),
        (["--set", "directories=0"], "directories = 0: "),
        (["--set", "rate_duration_s=NaN"], "rate_duration_s = 'NaN': expected"),
        (["--set", "rate_duration_s=1e400"], "rate_duration_s = '1e400': expected"),
        (["--set", f"constraints={'[' * 20_000}"], "constraints"),
        (["--ladder", "1000,nan"], "--ladder 1000,nan: expected rates in requests per second"),
        (["--base", "/srv/\udcff.conf"], "base = '/srv/\\udcff.conf': expected text in UTF-8"),
        (["--set", "directory=3"], "directory: no such setting"),
        (["--knob", "workers=5:2"], "workers: low 5 is above high 2"),
        (["--knob", "workers=two"], "workers = 'two': expected an integer from 1"),
        (["--knob", "threads=5"], "threads"),
        (["--knob", "workers"], "--knob workers: expected NAME=LOW:HIGH"),
        (["--knob", "workers=1:4", "--knob", "workers=2"], "--knob workers: given more than once"),
        (["--upstream", "app"], "--upstream app: expected NAME=measured or NAME=TIME"),
        (["--upstream", "a=1ms", "--upstream", "a=2ms"], "--upstream a: given more than once"),
        (["--upstream", "app=20ms"], "upstream app: expected your own file too, which names it (--base)"),
        (["--set", "gap_s=0", "--set", "gap_s=1"], "--set gap_s: given more than once"),
        (["--memory", "lots"], "memory = 'lots': expected 'unlimited', 'in-memory'"),
        (["--resume", "9"], "There is no run 9. `trimtab runs` lists the runs there are."),
        (["--resume", "1", "--budget", "50"], "leave out --budget; a run continues with its own options"),
        (["--even-if-changed"], "--even-if-changed: expected together with --resume ID"),
        (["--resume", "1", "--set", "gap_s=0"], "leave out --set; a run continues with its own options"),
    ],
)
def test_bad_input_is_named_and_ends_with_2(trimtab_here, options, sentence):
    """Every mistake names the offending thing and what was expected."""
    code, _, errors = trimtab_here("tune", *options)
    assert (code, errors.startswith("trimtab: ")) == (2, True)
    assert sentence in errors


def test_bad_input_with_json_is_the_error_body(trimtab_here):
    """Programs get the API's shape."""
    code, output, _ = trimtab_here("tune", "--preset", "fast", "--json")
    error = json.loads(output)["error"]
    assert (code, error["code"], error["field"]) == (2, "bad-specification", "preset")


@pytest.mark.parametrize(
    ("arguments", "field", "sentence"),
    [
        (("tune", "--sed", "1"), None, "No such option: --sed"),
        (("tune", "--seed", "one"), "seed", "'--seed'"),
        (("show", "one"), "run_id", "'RUN'"),
        (("shows",), None, "No such command 'shows'"),
    ],
)
def test_what_the_parser_refuses_is_the_error_body_too(trimtab_here, arguments, field, sentence):
    """With --json on standard output, without it for people only; exit code 2 both times."""
    code, output, errors = trimtab_here(*arguments, "--json")
    error = json.loads(output)["error"]
    assert (code, error["code"], error.get("field")) == (2, "bad-usage", field)
    assert sentence in error["message"]
    assert sentence in errors
    code, output, errors = trimtab_here(*arguments)
    assert (code, output) == (2, "")
    assert "Usage: trimtab" in errors


@pytest.mark.parametrize(
    "arguments",
    [
        ("tune", "--objective", "peak", "--objective=sustained"),
        ("host", "watch", "--interval=1", "--interval=2"),
        ("runs", "--limit=1", "--limit=1"),
    ],
)
def test_option_with_one_value_is_refused_when_given_twice(trimtab_here, arguments):
    """The last one does not win without a word."""
    code, _, errors = trimtab_here(*arguments)
    assert code == 2
    assert "given more than once; expected one value" in errors


def test_flag_given_twice_is_no_mistake(trimtab_here):
    """It says the same both times."""
    code, output, _ = trimtab_here("runs", "--json", "--json")
    assert (code, json.loads(output)) == (0, [])


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("show", "4"), "There is no run 4. `trimtab runs` lists the runs there are."),
        (
            ("live", "promote", "4"),
            "There is no live session 4. `trimtab live status` shows the sessions that go on.",
        ),
        (
            ("fleet", "forget", "web4"),
            "There is no station web4. `trimtab fleet status` lists the stations there are.",
        ),
    ],
)
def test_what_is_not_there_ends_with_2_and_how_to_find_what_is(trimtab_here, asked, told):
    """Each kind of thing has a list of its own."""
    code, _, errors = trimtab_here(*asked)
    assert (code, errors) == (2, f"trimtab: {told}\n")


def test_compare_of_an_unknown_run_ends_with_2(trimtab_here):
    """The number is named."""
    code, _, errors = trimtab_here("compare", "4", "5")
    assert (code, "There is no run 4." in errors) == (2, True)


@pytest.mark.parametrize("runs", [("1",), ("1", "1")])
def test_one_run_is_no_comparison(trimtab_here, runs):
    """Nor is one that is named twice."""
    code, output, errors = trimtab_here("compare", *runs)
    assert (code, output) == (2, "")
    assert "run 1 alone is no comparison: expected the numbers of two runs or more" in errors


def test_list_that_leaves_runs_out_says_so_and_how_to_see_them(trimtab_here, settings):
    """Whoever reads fifty lines would take them for all."""
    with open_repository(settings) as repository:
        for _ in range(3):
            run = repository.create_run(
                NewRun(
                    host_id=repository.register_host(this_host(settings)),
                    target_id=repository.register_target("core", "0.1.0"),
                    workload_id=repository.register_workload("w", {}, files=1, total_bytes=1),
                    preset="quick",
                    strategy="random",
                    objective="peak",
                    space={},
                    settings={},
                    seed=1,
                    budget_trials=3,
                    layout={},
                )
            )
            repository.set_run_state(run.id, RunState.STOPPED)
    _, output, _ = trimtab_here("runs", "--limit", "2")
    assert output.splitlines()[-1] == "The newest 2 of 3 runs; --limit 3 lists all."
    assert "lists all" not in trimtab_here("runs")[1]


def test_two_forms_of_a_report_are_refused(trimtab_here):
    """Neither is left out without a word."""
    code, _, errors = trimtab_here("show", "1", "--json", "--markdown")
    assert (code, "--json and --markdown: expected one of them" in errors) == (2, True)


@pytest.mark.parametrize(
    "options", [("show",), ("tune", "--resume"), ("compare", "1"), ("replay", "--from-run"), ("delete",)]
)
def test_number_beyond_any_database_is_an_unknown_run(trimtab_here, options):
    """In the words of any other that there is not."""
    for number in ("99999999999", "99999999999999999999"):
        code, _, errors = trimtab_here(*options, number)
        assert code == 2
        assert errors == f"trimtab: There is no run {number}. `trimtab runs` lists the runs there are.\n"


def test_read_only_database_is_named(trimtab_here, monkeypatch, settings):
    """The sentence names the file; nothing is started."""
    assert trimtab_here("db", "upgrade")[0] == 0
    monkeypatch.setenv("TRIMTAB_DATABASE_URL", f"sqlite:///file:{settings.var}/trimtab.db?mode=ro&uri=true")
    code, _, errors = trimtab_here("tune", *tiny_options())
    assert (code, "trimtab.db" in errors, "is read-only" in errors) == (1, True, True)


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_database_server_that_is_not_there_is_named_without_its_password(trimtab_here, monkeypatch, options):
    """One sentence, in the error body as well."""
    monkeypatch.setenv("TRIMTAB_DATABASE_URL", "postgresql://user:secret@127.0.0.1:1/trimtab")
    code, output, errors = trimtab_here("db", "upgrade", *options)
    assert (code, errors.count("\n")) == (1, 1)
    assert "postgresql://user:***@127.0.0.1:1/trimtab cannot be reached: expected a running" in errors
    assert "secret" not in output + errors
    assert not options or json.loads(output)["error"]["code"] == "database"


@pytest.mark.parametrize("demo", [(), ("--demo",)])
def test_daemons_port_in_use_is_named_with_what_to_type_for_another(trimtab_here, tmp_path, demo):
    """Two daemons cannot have one port, a demo beside the real one neither."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, errors = trimtab_here("up", *demo, "--var", str(tmp_path / "own"), "--port", str(port))
    assert (code, f"cannot listen on port {port} of 127.0.0.1" in errors) == (1, True)
    assert f"On another port: {' '.join(('trimtab up', *demo))} --port {port + 1}" in errors


def test_name_that_no_host_can_have_is_refused_in_a_sentence(trimtab_here):
    """Whether or not anybody could be asked for it."""
    code, _, errors = trimtab_here("up", "--host", "a" * 100)
    assert (code, errors.endswith(f"cannot listen on {'a' * 100}: that is no name of a host\n")) == (1, True)


def test_address_of_another_machine_is_refused_by_what_was_expected(trimtab_here):
    """Another port would not help."""
    code, _, errors = trimtab_here("up", "--host", "192.0.2.1", "--port", "0")
    assert code == 1
    assert "Cannot assign requested address; expected an address of this machine" in errors
    assert "--port" not in errors


def test_daemon_starts_answers_and_ends_on_sigterm(trimtab):
    """`trimtab up` says where it is, and ends cleanly."""
    daemon: Tune = trimtab("up", "--port", "0")
    line = daemon.wait_for_line("Trimtab is at http://")
    url = line.split()[3].rstrip(",")
    assert httpx.get(f"{url}/api/v1/health", timeout=60).json()["status"] == "ok"
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.finish()[0] == 0


def test_host_describes_cpus_and_layout(trimtab_here):
    """Machine-readable, with the division of the CPUs."""
    code, output, _ = trimtab_here("host", "show", "--json")
    document = json.loads(output)
    assert (code, document["cpus"]) == (0, os.cpu_count())
    assert document["layout"]["server"]


def test_run_is_shown_exported_and_deleted(simulated, trimtab_here, tmp_path, monkeypatch):
    """One tiny run through `tune --json`, `show`, `export` and `delete`."""
    code, output, errors = trimtab_here("tune", "--json", *tiny_options(budget_trials=1))
    assert code == 0, errors
    document = json.loads(output)
    assert document["run"]["state"] == "finished"
    assert "100 % done" in errors
    shown = " ".join(trimtab_here("show", "1")[1].split())  # lines are wrapped
    assert document["run"]["outcome"]["sentence"] in shown
    assert "(default)" in shown
    document_lines = trimtab_here("show", "1", "--markdown")[1].splitlines()
    assert document_lines[0] == "# Run 1: core under specweb99 (simulated)"
    (started_by,) = [line for line in document_lines if line.startswith("trimtab tune ")]
    assert {
        "--preset=quick",
        "--set=budget_trials=1",
        "--knob=workers=1:4",
        "--knob=max_connections=16",
    } <= set(started_by.split())
    assert "| workers | 1 | 1 to 4 |" in document_lines
    assert document["run"]["outcome"]["sentence"] in document_lines
    titles = {"## Space", "## Outcome", "## Configurations, best first", "## Diagnosis"}
    assert titles <= set(document_lines)
    assert {"## Configuration to use", "## Best so far, not confirmed"} & set(document_lines)
    code, output, _ = trimtab_here("export", "1", "--format", "trimtab-httpd", "--output", str(tmp_path))
    assert (code, "trimtab-httpd.ini: accepted" in output) == (0, True)
    (export,) = [e for e in document["exports"] if e["format"] == "trimtab-httpd"]
    assert (tmp_path / "trimtab-httpd.ini").read_text() == export["text"]
    headings, first, *_ = trimtab_here("show", "1", "--csv", "trials")[1].splitlines()
    assert headings.startswith("run,trial,host,purpose,")
    assert first.split(",")[3] == "calibration"
    assert trimtab_here("name", "1", "[red]before")[0] == 0
    assert "Run 1, [red]before" in trimtab_here("show", "1")[1]
    page = trimtab_here("show", "1", "--html")[1]
    assert "<h1>Run 1, [red]before: core under specweb99 (simulated)</h1>" in page
    assert "[red]before" in trimtab_here("runs")[1]
    assert trimtab_here("archive", "1")[0] == 0
    assert json.loads(trimtab_here("runs", "--json")[1]) == []
    (line,) = json.loads(trimtab_here("runs", "--archived", "--json")[1])
    assert (line["name"], line["archived"]) == ("[red]before", True)
    assert trimtab_here("archive", "1", "--undo")[0] == 0
    assert len(json.loads(trimtab_here("runs", "--json")[1])) == 1
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    code, output, _ = trimtab_here("delete", "1")
    assert (code, "Delete run 1 (core, " in output) == (1, True)
    assert trimtab_here("delete", "1", "--yes")[0] == 0
    assert trimtab_here("show", "1")[0] == 2


def test_disk_without_room_for_the_file_set_is_told_so(settings):
    """On a file system of 70 MB: the sentence says how much is needed and what to ask for instead."""
    script = 'mount -t tmpfs -o size=70m none "$1" && shift && exec "$@"'
    settings.var.mkdir()
    sandbox = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh", str(settings.var)]
    if subprocess.run([*sandbox, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine does not let tests mount a small file system")
    command = [sys.executable, "-c", "from trimtab_agent.terminal.main import main; main()", "tune"]
    done = subprocess.run(
        [*sandbox, *command, "--var", str(settings.var), *tiny_options(directories=10)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "run 1 failed: the file set needs" in done.stderr
    assert "--set directories=N" in done.stderr
