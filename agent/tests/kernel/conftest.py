"""The real kernel of this machine, left as it was found whatever a test does to it."""

from collections.abc import Callable, Iterator

import pytest
from trimtab_agent.os_settings.access import KERNEL_FILES, DirectAccess, SettingRefused

NEEDED = ("/proc/sys/net/ipv4/tcp_notsent_lowat", "/proc/sys/net/ipv4/tcp_wmem", "/proc/sys/vm/swappiness")


@pytest.fixture
def kernel_now() -> Iterator[Callable[[], dict[str, str]]]:
    """What all knobs of the kernel are set to now; skips where they cannot be set."""
    access = DirectAccess()
    for path in NEEDED:
        try:
            access.probe(path)
        except SettingRefused as error:
            pytest.skip(f"{path} cannot be written here: {error}")

    def now() -> dict[str, str]:
        found = {}
        for path in KERNEL_FILES:
            try:
                found[path] = access.read(path)
            except SettingRefused:
                continue
        return found

    before = now()
    yield now
    for path, value in now().items():
        if value != before[path]:
            access.write(path, before[path])
