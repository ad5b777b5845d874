"""The station of this machine, without a database."""

import pytest
from trimtab_agent.counters.watched import WatchedCounters
from trimtab_agent.host.cpu_layout import process_layout
from trimtab_agent.host.identity import describe_host
from trimtab_agent.os_settings.access import DirectAccess
from trimtab_agent.os_settings.journal import SettingsJournal
from trimtab_agent.station.station import Station


class NoLines:
    """Where lines of the journal would be kept: nothing here touches a setting."""

    def record(self, changes, *, by_hand, boot_id=""):
        """None may come."""
        assert not changes
        return ()

    def mark_applied(self, change_ids):
        """Nor here."""
        assert not change_ids

    def mark_restored(self, change_ids):
        """Nor here."""
        assert not change_ids

    def unrestored(self):
        """Nothing is in force."""
        return ()


@pytest.fixture
def station(settings, tmp_path):
    """The station of this machine."""
    with Station(
        settings,
        host=describe_host(settings.var),
        layout=process_layout(),
        counters=WatchedCounters(),
        journal=SettingsJournal(NoLines(), DirectAccess()),
        logs=tmp_path / "logs",
    ) as made:
        yield made
