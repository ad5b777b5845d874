"""`trimtab tune` beside `trimtab up`: the daemon carries the run out, and the terminal shows the same."""

import json
import os
import signal
import stat
from collections.abc import Callable, Iterator

import httpx
import pytest
from live_support import Tune, tiny_options, wait_until_gone
from trimtab_agent.host.lock import holder_of
from trimtab_agent.paths import VarPaths
from trimtab_agent.runtime import open_repository
from trimtab_agent.settings import AgentSettings
from trimtab_db.records import RunState
from waiting import until


@pytest.fixture
def daemon(trimtab: Callable[..., Tune]) -> Tune:
    """A daemon that has said that it is there."""
    started = trimtab("up", "--port=0")
    started.wait_for_line("Trimtab is at")
    return started


@pytest.fixture
def browser(daemon: Tune, settings: AgentSettings) -> Iterator[httpx.Client]:
    """What reaches that daemon as a browser does, by its port."""
    url = holder_of(VarPaths(settings.var).daemon_lock)["url"]
    with httpx.Client(base_url=f"{url}/api/v1", timeout=60) as client:
        yield client


def test_run_shows_and_ends_as_without_a_daemon(simulated, trimtab, daemon, settings):
    """The same lines and exit code 0; the run is the daemon's, and the terminal has no children."""
    simulated.hold(trial=2)
    command: Tune = trimtab("tune", *tiny_options(budget_trials=1))
    command.wait_for_line(f"(process {daemon.process.pid}) carries the run out")
    command.wait_for_line("searching, ETA")
    children = command.descendants()
    simulated.release()
    code, output = command.finish()
    assert (code, children) == (0, [])
    for part in (
        "Run 1: server on CPU",
        "trial 1 calibration: ",
        "100 % done",
        "Run 1 finished: target core",
    ):
        assert part in output
    with open_repository(settings) as repository:
        assert repository.run(1).state is RunState.FINISHED


def test_json_is_the_document_that_show_prints(simulated, trimtab, daemon):
    """Progress goes to standard error, as ever."""
    command: Tune = trimtab("tune", "--json", *tiny_options(budget_trials=1))
    code, output = command.finish()
    shown = json.loads(trimtab("show", "1", "--json").finish()[1])
    assert code == 0
    assert json.loads(output[output.index("\n{\n") :]) == shown


def test_ctrl_c_stops_the_run_in_the_daemon_which_stays(going_on, trimtab, daemon, browser, settings):
    """Exit code 130; the run can be resumed, also beside the daemon."""
    command: Tune = trimtab("tune", *going_on)
    command.wait_for_line("calibrating, ETA")
    assert browser.get("/runs/1").json()["progress"]["phase"] == "calibrating"
    command.process.send_signal(signal.SIGINT)
    code, output = command.finish()
    assert code == 130
    assert "Stopping: finished trials are kept" in output
    assert "Resume with: trimtab tune --resume 1" in output
    assert browser.get("/runs/1").json()["state"] == "stopped"
    resumed: Tune = trimtab("tune", "--resume", "1")
    resumed.wait_for_line("calibrating, ETA")
    resumed.process.send_signal(signal.SIGTERM)
    assert resumed.finish()[0] == 130


def test_run_stopped_in_the_browser_ends_the_command(going_on, trimtab, daemon, browser):
    """It was stopped all the same: exit code 130."""
    command: Tune = trimtab("tune", *going_on)
    command.wait_for_line("calibrating, ETA")
    assert browser.post("/runs/1/stop").status_code == 202
    code, output = command.finish()
    assert (code, "Resume with: trimtab tune --resume 1" in output) == (130, True)


def test_terminal_that_is_closed_leaves_the_run_to_the_daemon(going_on, trimtab, daemon, browser):
    """What the terminal only watches does not die with it."""
    command: Tune = trimtab("tune", *going_on)
    command.wait_for_line("calibrating, ETA")
    command.process.kill()
    command.process.wait()
    assert browser.get("/runs/1").json()["state"] == "running"


@pytest.mark.parametrize(
    ("number", "state"), [(signal.SIGTERM, "stopped"), (signal.SIGKILL, "interrupted")], ids=["ends", "dies"]
)
def test_run_of_a_daemon_that_goes_away_is_told_as_it_was_left(
    going_on, trimtab, daemon, settings, number, state
):
    """Exit code 130 and how to go on; afterwards, without a daemon, the terminal itself goes on."""
    command: Tune = trimtab("tune", *going_on)
    command.wait_for_line("calibrating, ETA")
    children = daemon.descendants()
    daemon.process.send_signal(number)
    code, output = command.finish()
    daemon.process.wait()
    assert code == 130
    assert f"Run 1 {state}" in output
    wait_until_gone(children)
    resumed: Tune = trimtab("tune", "--resume", "1")
    resumed.wait_for_line("calibrating, ETA")
    resumed.process.send_signal(signal.SIGINT)
    assert "The daemon" not in resumed.finish()[1]


@pytest.mark.parametrize(
    ("options", "expected", "sentence"),
    [
        (("--preset=fast",), 2, "preset = 'fast': expected one of quick, standard"),
        (("--resume=9",), 2, "There is no run 9. `trimtab runs` lists the runs there are."),
        (
            ("--target=nginx", "--base=missing.conf"),
            2,
            "missing.conf: expected a configuration file, there is none",
        ),
    ],
)
def test_what_the_daemon_refuses_is_told_in_its_words(command, daemon, options, expected, sentence):
    """With the exit codes of a command that works alone."""
    code, _, errors = command("tune", *options)
    assert (code, errors.startswith("trimtab: ")) == (expected, True)
    assert sentence in errors


def test_refusal_with_json_is_the_error_body(command, daemon):
    """The field included."""
    code, output, _ = command("tune", "--budget=0", "--json")
    error = json.loads(output)["error"]
    assert (code, error["code"], error["field"]) == (2, "bad-specification", "budget_trials")


def test_second_run_is_a_conflict_that_names_the_first(going_on, trimtab, daemon):
    """Exit code 3."""
    first: Tune = trimtab("tune", *going_on)
    first.wait_for_line("calibrating, ETA")
    code, output = trimtab("tune", *tiny_options()).finish()
    assert code == 3
    assert f"run 1 is running on this machine (process {daemon.process.pid}, " in output


def test_own_file_goes_through_the_socket_and_never_through_the_port(
    going_on, trimtab, browser, settings, tmp_path
):
    """A browser shall not have a file of the host read; the user's own command may, by a path of its own."""
    own = tmp_path / "own.ini"
    own.write_text("[server]\nworkers = 2\n")
    refused = browser.post("/runs", json={"base": str(own)})
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "base")
    relative = os.path.relpath(own)
    command: Tune = trimtab("tune", f"--base={relative}", *going_on[:-2])
    command.wait_for_line("calibrating, ETA")
    with open_repository(settings) as repository:
        assert repository.run(1).base["path"] == str(own)


def test_command_with_another_database_is_refused(trimtab, daemon, monkeypatch, tmp_path):
    """It would follow a run of the same number, or none."""
    monkeypatch.setenv("TRIMTAB_DATABASE_URL", f"sqlite:///{tmp_path}/other.db")
    code, output = trimtab("tune", *tiny_options()).finish()
    assert code == 1
    assert "trimtab.db, this command in" in output
    assert "expected the same TRIMTAB_DATABASE_URL" in output


def test_only_the_daemons_user_may_connect(daemon, settings):
    """Mode 0600, from the moment it is there."""
    path = VarPaths(settings.var).daemon_socket
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_second_daemon_of_a_directory_is_refused(trimtab, daemon):
    """It names the first, whose socket keeps answering."""
    code, output = trimtab("up", "--port=0").finish()
    assert code == 1
    (sentence,) = output.splitlines()
    assert f"is running already (process {daemon.process.pid}, http://127.0.0.1:" in sentence
    command: Tune = trimtab("tune", "--preset=fast")
    assert "carries the run out" in command.finish()[1]


def test_daemon_beside_a_terminals_run_takes_no_samples_until_it_has_ended(going_on, trimtab, settings):
    """It says once whom it waits for; a second sampler would write every second twice."""
    first: Tune = trimtab("tune", *going_on)
    first.wait_for_line("calibrating, ETA")
    daemon: Tune = trimtab("up", "--port=0")
    said = daemon.wait_for_line("samples the counters")
    assert f"process {first.process.pid} " in said
    first.process.send_signal(signal.SIGINT)
    first.finish()
    lock = VarPaths(settings.var).sampler_lock
    until(lambda: holder_of(lock).get("pid") == daemon.process.pid or daemon.process.poll() is not None)
    assert daemon.process.poll() is None
    daemon.process.send_signal(signal.SIGTERM)
    code, output = daemon.finish()
    assert (code, output.count("samples the counters")) == (0, 1)


def test_directory_with_a_long_path_has_a_socket_all_the_same(trimtab, settings, tmp_path):
    """unix(7) allows 107 bytes; a checkout may lie deeper."""
    deep = tmp_path / ("directory-" * 12)
    daemon: Tune = trimtab("up", "--port=0", f"--var={deep}")
    daemon.wait_for_line("Trimtab is at")
    command: Tune = trimtab("tune", "--preset=fast", f"--var={deep}")
    assert f"(process {daemon.process.pid}) carries the run out" in command.finish()[1]
