"""The contract of the repository about trials and proposals; runs on every backend."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.exc import StatementError
from trimtab_db.errors import RecordConflictError, RecordNotFoundError
from trimtab_db.repository.trials import CURVE
from trimtab_trials.configuration import configuration_hash
from trimtab_trials.measurement import Latency, Measurement, RequestCounts, SessionCounts, SizeClassCounts
from trimtab_trials.trial import Trial


def test_recorded_trial_comes_back_whole(repository, make_run, make_trial):
    """Measurements, size classes, distributions and the server's configuration file are all there."""
    trial = make_trial(make_run(repository).id)
    repository.record_trial(trial)
    assert repository.trial(trial.run_id, trial.number) == trial


def test_list_leaves_size_classes_out_if_asked(repository, make_run, make_trial):
    """They are most of what a trial takes to be read."""
    trial = make_trial(make_run(repository).id)
    repository.record_trial(trial)
    bare = tuple(replace(measurement, size_classes=()) for measurement in trial.measurements)
    assert repository.whole_trials(trial.run_id) == (trial,)
    assert repository.whole_trials(trial.run_id, size_classes=False) == (replace(trial, measurements=bare),)


def test_list_goes_on_after_a_number(repository, make_run, make_trial):
    """A reader that has the first trials asks for the rest only."""
    run_id, other_id = make_run(repository).id, make_run(repository).id
    for number in (3, 1, 2, 4):
        repository.record_trial(make_trial(run_id, number))
    repository.record_trial(make_trial(other_id, 1))
    assert [trial.number for trial in repository.whole_trials(run_id)] == [1, 2, 3, 4]
    assert [trial.number for trial in repository.whole_trials(run_id, after=1, limit=2)] == [2, 3]
    assert repository.whole_trials(run_id, numbers={4, 2, 9}) == (
        repository.trial(run_id, 2),
        repository.trial(run_id, 4),
    )


def test_order_of_recording_is_not_that_of_the_numbers(repository, make_run, make_trial):
    """Of several hosts one may be done later that began before; other runs have an order of their own."""
    run_id, other_id = make_run(repository).id, make_run(repository).id
    for own_id, number in ((run_id, 3), (other_id, 1), (run_id, 1), (run_id, 2)):
        repository.record_trial(make_trial(own_id, number))
    assert repository.order_of_recording(run_id) == (3, 1, 2)
    assert repository.order_of_recording(other_id) == (1,)


def without_particulars(trial: Trial) -> Trial:
    """The trial with the part of its measurements that curves and tables show."""
    curve = tuple(Measurement(**{name: getattr(m, name) for name in CURVE}) for m in trial.measurements)
    return replace(trial, server_config="", measurements=curve)


def test_curves_tell_of_the_same_trials(repository, make_run, make_trial):
    """Each is its trial without the particulars; paging is the same."""
    run_id, other_id = make_run(repository).id, make_run(repository).id
    repository.record_proposal(run_id, 5, {}, configuration_hash="", level=0, reason="")
    trials = [
        make_trial(run_id, 1, proposal_number=5),
        make_trial(run_id, 2, measurements=()),
        make_trial(run_id, 4),
    ]
    for trial in trials:
        repository.record_trial(trial)
    repository.record_trial(make_trial(other_id, 2))
    with_curves = repository.trials_with_curves(run_id)
    assert with_curves == tuple(map(without_particulars, trials))
    assert repository.trials_with_curves(run_id, after=1, limit=1) == with_curves[1:2]
    assert repository.trials_with_curves(run_id, after=4) == ()


def test_lines_tell_of_the_same_trials(repository, make_run, make_trial):
    """Each is its trial without its measurements, of which the goodput can be asked for."""
    run_id, other_id = make_run(repository).id, make_run(repository).id
    repository.record_proposal(run_id, 5, {}, configuration_hash="", level=0, reason="")
    trials = [make_trial(run_id, 1, proposal_number=5), make_trial(run_id, 2, measurements=())]
    for trial in (*trials, make_trial(other_id, 1)):
        repository.record_trial(trial)
    assert repository.trials(run_id) == tuple(
        replace(trial, server_config="", measurements=()) for trial in trials
    )
    assert repository.goodput_curves(run_id) == {
        1: {measurement.rate_rps: measurement.goodput_mbps for measurement in trials[0].measurements}
    }


@pytest.mark.parametrize("read", ["trials", "trials_with_curves", "whole_trials"])
def test_hash_of_a_trial_is_that_of_its_configuration_however_it_is_read(
    repository, make_run, make_trial, read
):
    """It is kept beside the configuration, so that thousands need not be worked out again."""
    trial = make_trial(make_run(repository).id)
    repository.record_trial(trial)
    (found,) = getattr(repository, read)(trial.run_id)
    assert found.configuration_hash == configuration_hash(trial.configuration)


def test_second_trial_of_same_number_is_refused(repository, make_run, make_trial):
    """Numbers are unique in a run, and the first record stays."""
    trial = make_trial(make_run(repository).id)
    repository.record_trial(trial)
    with pytest.raises(RecordConflictError):
        repository.record_trial(replace(trial, score=1.0))
    assert repository.trial(trial.run_id, trial.number) == trial


def test_failure_in_the_middle_leaves_nothing_of_the_trial(
    repository, make_run, make_trial, make_measurement
):
    """The last of many rows is refused: the rows before it are gone as well."""
    run_id = make_run(repository).id
    twice = make_measurement(1)
    with pytest.raises(RecordConflictError):
        repository.record_trial(make_trial(run_id, measurements=(make_measurement(2), twice, twice)))
    assert repository.whole_trials(run_id) == ()
    repository.record_trial(make_trial(run_id))
    assert len(repository.whole_trials(run_id)) == 1


def test_trial_without_its_proposal_is_refused_whole(repository, make_run, make_trial):
    """A reference into nothing is found before anything is kept."""
    run_id = make_run(repository).id
    with pytest.raises(RecordConflictError, match="proposal 9, which is not recorded"):
        repository.record_trial(make_trial(run_id, proposal_number=9))
    assert repository.whole_trials(run_id) == ()


def test_unknown_trial_is_not_found(repository, make_run):
    """The sentence names the trial and its run."""
    run_id = make_run(repository).id
    with pytest.raises(RecordNotFoundError, match=f"no trial 5 of run {run_id}"):
        repository.trial(run_id, 5)


def test_proposal_knows_the_trial_made_of_it(repository, make_run, make_trial):
    """What was asked for and not tried is told from what was."""
    run_id = make_run(repository).id
    for number in (1, 2):
        repository.record_proposal(
            run_id, number, {"workers": number}, configuration_hash=f"{number}", level=0, reason="grid"
        )
    trial = make_trial(run_id, 7, proposal_number=1)
    repository.record_trial(trial)
    first, second = repository.proposals_of(run_id)
    assert (first.configuration, first.trial_number) == ({"workers": 1}, 7)
    assert (second.configuration, second.trial_number) == ({"workers": 2}, None)
    assert repository.trial(run_id, 7).proposal_number == 1


# PostgreSQL's text holds neither lone surrogates nor NUL.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
finite = st.floats(allow_nan=False, allow_infinity=False)
counts = st.integers(0, 2**62)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | finite | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
json_objects = st.dictionaries(texts, values, max_size=3)
latencies = st.builds(Latency, *[st.none() | finite] * 6)
# Offsets rather than time zones: a local time that a zone skips or repeats is no moment to compare with.
offsets = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
times = st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1), timezones=offsets)


@st.composite
def measurements(draw: st.DrawFn) -> Measurement:
    """Any measurement, with each size at most once."""
    sizes = draw(st.lists(counts, max_size=3, unique=True))
    return draw(
        st.builds(
            Measurement,
            number=st.just(1),
            rate_rps=finite,
            duration_s=finite,
            warmup_s=finite,
            elapsed_s=finite,
            goodput_mbps=finite,
            reply_rate_rps=finite,
            bytes_received=counts,
            sessions=st.builds(SessionCounts, *[counts] * 7),
            requests=st.builds(RequestCounts, *[counts] * 7),
            connect_latency=latencies,
            first_byte_latency=latencies,
            reply_latency=latencies,
            failures=json_objects,
            health=json_objects,
            server_stats=json_objects,
            counters=json_objects,
            generator_limited=st.booleans(),
            size_classes=st.tuples(
                *[
                    st.builds(
                        SizeClassCounts,
                        size_bytes=st.just(size),
                        asked=counts,
                        replied=counts,
                        timed_out_before_read=counts,
                        timed_out_after_read=counts,
                        failed=counts,
                        abandoned=counts,
                    )
                    for size in sorted(sizes)
                ]
            ),
        )
    )


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    measurement=measurements(),
    configuration=json_objects,
    text=texts,
    score=st.none() | finite,
    started_at=times,
    finished_at=times,
)
def test_any_trial_comes_back_as_it_went_in(
    repository, make_run, make_trial, measurement, configuration, text, score, started_at, finished_at
):
    """No character, number or time zone is changed on the way through the database."""
    trial = make_trial(
        make_run(repository).id,
        configuration=configuration,
        reason=text,
        server_config=text,
        score=score,
        started_at=started_at,
        finished_at=finished_at,
        measurements=(measurement,),
    )
    repository.record_trial(trial)
    assert repository.trial(trial.run_id, 1) == trial
    assert repository.trial(trial.run_id, 1).started_at.tzinfo is UTC


def test_time_without_zone_is_refused(repository, make_run, make_trial):
    """A naive time could mean anything; nothing is recorded."""
    run_id = make_run(repository).id
    naive = datetime(2026, 1, 1)
    with pytest.raises(StatementError, match="has no time zone"):
        repository.record_trial(make_trial(run_id, started_at=naive))
    assert repository.whole_trials(run_id) == ()


def test_trials_with_a_configuration_are_all_of_it(repository, make_run, make_trial):
    """Of every purpose, with the curves that they measured."""
    run_id = make_run(repository).id
    for number in (1, 2, 3):
        repository.record_trial(make_trial(run_id, number, configuration={"workers": int(number < 3)}))
    found = repository.trials_with_curves(run_id, configuration_hash=configuration_hash({"workers": 1}))
    assert [trial.number for trial in found] == [1, 2]
    assert [len(trial.measurements) for trial in found] == [2, 2]


def test_trial_of_an_unknown_host_is_refused(repository, make_run, make_trial):
    """A trial belongs to the machine that it was measured on."""
    run_id = make_run(repository).id
    with pytest.raises(RecordConflictError):
        repository.record_trial(make_trial(run_id, host_id=4711))
