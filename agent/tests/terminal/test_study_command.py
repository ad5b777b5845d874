"""`trimtab study thesis`, in a form of seconds: on simulated measurements, and with the real server."""

import dataclasses
import json
import signal
from xml.etree import ElementTree

import pytest
from live_support import TINY
from rich.console import Console
from simulation import Simulation
from trimtab_agent.results.thesis_page import StudyResult, figures, thesis_markdown
from trimtab_agent.runtime import open_runtime
from trimtab_agent.settings import AgentSettings
from trimtab_agent.simulated.demo import SAID
from trimtab_agent.study.specification import check
from trimtab_agent.study.thesis_result import result_of
from trimtab_agent.study.thesis_steps import Recorded, capacity_spec, tuning_spec
from trimtab_agent.study.thesis_time import StudyClock
from trimtab_agent.terminal.commands.study import carry_out, in_hours, write_page
from trimtab_db.records import RunState
from trimtab_tuner.thesis.plan import FULL, SHORT, StudyPlan

SECONDS = StudyPlan(
    name="seconds",
    sizes=("in-memory",),
    servers=("symped-nb", "watpipe-b"),
    shares=(0.2, 0.4),
    # Two directories, as a limit on memory is refused to a file set that is smaller than a server.
    settings={
        **{name: TINY[name] for name in TINY if name not in ("ladder_points", "budget_trials", "strategy")},
        "directories": 2,
        "calibration_halvings": 1,
        "confirmation_repeats": 0,
    },
    workers=(1, 4),
    connections=(16, 64),
    budget_trials=2,
    repeats=2,
    reference={"architecture": "symped", "sendfile": "nonblocking", "workers": 1, "max_connections": 16},
)


@dataclasses.dataclass
class Done:
    """A study that has come to its end."""

    settings: AgentSettings
    result: StudyResult
    recorded: Recorded
    shown: str


@pytest.fixture(scope="module", params=["simulated", pytest.param("measured", marks=pytest.mark.live)])
def done(tmp_path_factory, programs, request):
    """Carried out once for all that look at it."""
    var = tmp_path_factory.mktemp("study")
    if request.param == "simulated":
        Simulation(var)
    settings = AgentSettings(var=var, httpd_path=programs.httpd_path, load_path=programs.load_path)
    console = Console(record=True, width=400)
    result, code = carry_out(SECONDS, settings, console)
    assert code == 0
    return Done(settings, result, recorded_in(settings), console.export_text())


def recorded_in(settings, plan=SECONDS):
    """What the directory holds of the study."""
    with open_runtime(settings) as runtime:
        return Recorded(runtime.repository, plan, runtime.host_id)


def test_study_tunes_each_server_and_repeats_the_best_in_rounds(done):
    """One climb, a run for each server on its ladder, two rounds; all found by their tags."""
    recorded = done.recorded
    assert sorted(recorded.cells) == ["in-memory capacity", "in-memory symped-nb", "in-memory watpipe-b"]
    assert all(one.run.tags[0] == "thesis-seconds" for one in recorded.cells.values())
    assert all(len(one.scores) == SECONDS.repeats for one in recorded.found("in-memory"))
    ladders = {one.run.ladder for name, one in recorded.cells.items() if "capacity" not in name}
    assert ladders == {SECONDS.ladder(recorded.capacity_rps("in-memory"))}
    assert "[1/7] in-memory: capacity; ETA 1 min" in done.shown
    assert "[7/7]" in done.shown
    assert done.shown.startswith(SAID) is done.settings.demo


def test_nothing_that_is_recorded_is_measured_again(done):
    """The second time there is nothing to do, and nothing to show."""
    console = Console(record=True, width=400)
    result, code = carry_out(SECONDS, done.settings, console)
    trials = [[trial.number for trial in cell.trials] for cell in recorded_in(done.settings).cells.values()]
    assert trials == [[trial.number for trial in cell.trials] for cell in done.recorded.cells.values()]
    assert (result, code, console.export_text()) == (done.result, 0, "")


def test_page_lays_what_was_measured_beside_the_published_order(done, tmp_path):
    """A table and a figure for each size; the figure is well-formed, and named beside the page."""
    page = tmp_path / "study.md"
    write_page(done.result, page)
    text = page.read_text()
    assert "## in-memory (in the thesis 4 GB, table 3.26)" in text
    assert "| symped-nb > watpipe-b |" in text
    assert "(study-in-memory.svg)" in text
    assert "of 1 pair the server with the higher score takes less CPU time." in text
    assert "Not complete" not in text
    figure = ElementTree.fromstring((tmp_path / "study-in-memory.svg").read_text())  # noqa: S314 - our own
    assert figure.tag == "{http://www.w3.org/2000/svg}svg"
    assert sorted(done.result.runs) == sorted(done.recorded.cells)


def test_page_of_a_study_with_nothing_measured_says_so(settings):
    """No figure, no order, and how much is left."""
    with open_runtime(settings) as runtime:
        recorded = Recorded(runtime.repository, SECONDS, runtime.host_id)
        result = result_of(recorded, runtime.repository, runtime.repository.host(runtime.host_id))
    assert figures(result) == {}
    text = thesis_markdown(result, {})
    assert "**Not complete:** 7 steps of the plan not taken." in text
    assert "Of 1 pair: 0 agreed, 0 differs, 1 cannot be told." in text


def test_study_that_was_stopped_goes_on_with_the_run_it_was_in(simulated, trimtab, settings):
    """Exit code 130; the run is resumed, not begun anew."""
    simulated.hold(trial=1, rate=2)
    study = trimtab("study", "thesis", "--short")
    study.wait_for_line("in-memory: capacity; ETA")
    study.process.send_signal(signal.SIGINT)
    code, output = study.finish()
    assert code == 130
    assert "the same command goes on where it was" in output
    recorded = recorded_in(settings, SHORT)
    (climb,) = recorded.cells.values()
    assert climb.run.state is RunState.STOPPED
    first = next(recorded.left())
    assert (first.kind, first.run_id) == ("capacity", climb.run.id)


def test_runs_of_another_ladder_do_not_count(done):
    """Scores compare on one ladder only."""
    other = dataclasses.replace(SECONDS, shares=(0.1, 0.3))
    kinds = [step.kind for step in recorded_in(done.settings, other).left()]
    assert kinds == ["tuning"] * 2 + ["repeat"] * 4


@pytest.mark.parametrize("plan", [SHORT, FULL])
def test_every_run_of_a_plan_makes_sense(plan):
    """No knob, range or setting that would be refused hours after the start."""
    for memory in plan.sizes:
        assert check(capacity_spec(plan, memory)).settings.capacity_only
        for server in plan.servers:
            spec = tuning_spec(plan, memory, server, plan.ladder(20_000.0))
            free = {knob.name for knob in check(spec).space.free}
            assert free == {"workers", "max_connections"}


def test_short_form_is_estimated_at_about_an_hour(settings):
    """And the full one at days."""
    with open_runtime(settings) as runtime:
        short, full = (
            StudyClock(runtime.service).left_s(Recorded(runtime.repository, plan, runtime.host_id).left())
            for plan in (SHORT, FULL)
        )
    assert 45 * 60 < short < 75 * 60
    assert full > 24 * 3600


@pytest.mark.parametrize("options", [(), ("--short", "--full")])
def test_one_form_is_expected(command, options):
    """Exit code 2 and a sentence."""
    code, output, _ = command("study", "thesis", *options, "--json")
    assert code == 2
    assert json.loads(output)["error"]["message"].endswith("expected either --short or --full")


def test_page_that_cannot_be_written_is_refused_before_anything_is_measured(command):
    """Not an hour later."""
    code, _, errors = command("study", "thesis", "--short", "--page", "/nonexistent/page.md")
    assert code == 2
    assert "--page /nonexistent/page.md: expected a file in a directory that exists" in errors


def test_durations_are_told_in_what_people_count_in():
    """Minutes, hours, days."""
    assert [in_hours(s) for s in (5, 3000, 9000, 400_000)] == ["1 min", "50 min", "2.5 h", "4.6 days"]
