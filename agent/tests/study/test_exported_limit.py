"""The limit on connections of a run with shortened pauses, from the measurement to the file and back."""

import pytest
from live_support import LADDER_RPS, tiny_spec
from trimtab_agent.paths import VarPaths
from trimtab_agent.results.exporting import text_digest, verdict
from trimtab_agent.results.outcome import Outcome
from trimtab_agent.study.run_spec import KnobSpec
from trimtab_db.records import RunState
from trimtab_tuner.targets import TARGETS

pytestmark = pytest.mark.usefixtures("simulated")

DEFAULT = TARGETS["core"].space().default()["max_connections"]


def test_exported_limit_is_for_unscaled_pauses_and_the_measured_one_is_driven(runtime, command):
    """Sessions of a fiftieth of the pauses: the file is lifted, what is driven is not, and both say so."""
    knobs = {"max_connections": KnobSpec(fixed=DEFAULT), "workers": KnobSpec(fixed=1)}
    spec = tiny_spec(knobs, ladder=LADDER_RPS, budget_trials=2, confirmation_repeats=0)
    run_id = runtime.service.start(spec)
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert run.state is RunState.FINISHED, run.error
    exports = {export.format: export for export in runtime.repository.exports(run_id)}
    own = exports["trimtab-httpd"]
    lifted = TARGETS["core"].parse(own.text, 1)["max_connections"]
    # 400 requests/s are 55 sessions/s, each within 0.5 s at a fiftieth of the pauses: 1,372 at most are open.
    assert DEFAULT < lifted <= 1_400
    flat = " ".join(own.text.replace("\n#", " ").split())
    assert f"The limit found is {DEFAULT:,}, with pauses 0.02 times those of the workload" in flat
    assert "time limit 0.5 s" in flat
    assert "checked against the highest value that the server takes" in flat

    outcome = Outcome.model_validate(run.outcome)
    assert outcome.written == {**outcome.best, "max_connections": lifted}
    again = outcome.remeasured
    assert again is not None
    driven = runtime.repository.trial(run_id, again.trial)
    assert f"\nmax_connections = {DEFAULT}\n" in driven.server_config
    assert again.export_sha256 == text_digest(own.text)
    assert again.text_sha256 != again.export_sha256
    said = f"It was driven with max_connections = {DEFAULT} as measured, in place of {lifted}"
    assert said in again.sentence
    assert said in verdict(own, run)
    assert said in exports["readme"].text

    code, output, errors = command("export", str(run_id))
    assert (code, errors) == (0, "")
    assert "its text has changed since" not in output
    file = VarPaths(runtime.settings.var).exports(run_id) / own.file_name
    assert file.read_text() == own.text
