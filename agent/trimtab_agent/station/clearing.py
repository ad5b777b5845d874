"""Takes away what killed stations have left in the operating system."""

import logging
from pathlib import Path

from trimtab_agent.station import link, memory_group, short_directory
from trimtab_agent.station.leftovers import Leftovers

log = logging.getLogger(__name__)

REMOVERS = {
    memory_group.KIND: memory_group.remove,
    link.KIND: link.remove,
    short_directory.KIND: short_directory.remove,
}


def clear_leftovers(journal: Path) -> None:
    """Takes away all that is in the journal; to be called by whoever holds the machine's lock."""
    for complaint in Leftovers(journal).clear(REMOVERS):
        log.warning("%s", complaint)
