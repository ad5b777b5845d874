"""The contract of the repository about the journal of operating-system settings; runs on every backend."""

import pytest
from trimtab_db.errors import RecordNotFoundError


def mask_of(irq):
    """A change of an interrupt's mask from 3 to 2."""
    return f"/proc/irq/{irq}/smp_affinity", "3", "2"


@pytest.fixture
def journal(repository, make_host):
    """The journal of one host."""
    return repository.os_changes(repository.register_host(make_host()))


def test_journal_lists_what_is_not_restored_latest_first(repository, journal, make_run):
    """A change that was announced counts as not restored, whether it was applied or not."""
    run = make_run(repository)
    (announced,) = journal.record([mask_of(24)], by_hand=True)
    of_run = repository.os_changes(run.host_id, run.id)
    applied, restored = of_run.record([mask_of(25), mask_of(26)], by_hand=False)
    journal.mark_applied([applied, restored])
    journal.mark_restored([restored])
    latest, first = journal.unrestored()
    assert (latest.id, latest.run_id, latest.value_before, latest.value_after) == (applied, run.id, "3", "2")
    assert latest.applied_at is not None
    assert (first.id, first.applied_at, first.run_id) == (announced, None, None)
    assert (first.by_hand, latest.by_hand) == (True, False)


def test_many_lines_keep_their_order(journal):
    """Announced together, they are listed the last one first, as they have to be put back."""
    changes = [mask_of(number) for number in range(200)]
    numbers = journal.record(changes, by_hand=True)
    lines = journal.unrestored()
    assert [(line.id, line.path) for line in reversed(lines)] == list(
        zip(numbers, [path for path, _, _ in changes], strict=True)
    )
    journal.mark_restored(numbers)
    assert journal.unrestored() == ()


def test_mark_on_unknown_change_is_not_found(journal):
    """A mark cannot be made on nothing, and then none of the others is made; no marks are no error."""
    (known,) = journal.record([mask_of(24)], by_hand=True)
    with pytest.raises(RecordNotFoundError, match=f"no operating-system change {known + 3}"):
        journal.mark_applied([known, known + 3])
    assert journal.unrestored()[0].applied_at is None
    journal.mark_applied(journal.record([], by_hand=True))


def test_journal_of_one_host_holds_no_line_of_another(repository, journal, make_host):
    """Whoever starts on one machine must not write another machine's masks into its own kernel."""
    other = repository.os_changes(repository.register_host(make_host(machine_id="another")))
    other.record([mask_of(24)], by_hand=True)
    assert journal.unrestored() == ()
    assert len(other.unrestored()) == 1


def test_journal_is_the_machines_whatever_its_kernel_was(repository, journal, make_host):
    """A machine that was booted with another kernel still knows what it has to put back."""
    journal.record([mask_of(24)], by_hand=True)
    now = repository.os_changes(repository.register_host(make_host(kernel="6.19.0", name="renamed")))
    assert len(now.unrestored()) == 1
