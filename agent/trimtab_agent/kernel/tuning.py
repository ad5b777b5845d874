"""Knobs of the kernel, set for the time of a trial on top of what is in force; just that is taken back.

All of them are looked at before a trial and after it, those too that nobody of ours has set: a trial under
which one moves has not measured what it says.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from trimtab_trials.configuration import Configuration
from trimtab_tuner.targets.kernel import KERNEL_KNOBS, file_values, kernel_knob, kernel_part

from trimtab_agent.kernel.reading import files_of, other_namespace
from trimtab_agent.os_settings.access import DirectAccess, SettingRefused
from trimtab_agent.os_settings.journal import Applied, Change, SettingsJournal
from trimtab_agent.os_settings.tuners import kernel_tuners

Drift = Callable[[], tuple[str, ...]]


class KernelTuning:
    """Sets the knobs of the kernel of this machine. Safe to call from one thread at a time."""

    def __init__(self, journal: SettingsJournal, root: Path = Path("/")) -> None:
        self._journal = journal
        self._root = root

    @contextmanager
    def for_configuration(self, configuration: Configuration) -> Iterator[Drift]:
        """What the configuration says of the kernel, put back whatever ends it, if it says anything.

        Gives what tells, a sentence each, what somebody else has changed since. Raises SettingRefused when
        the kernel lacks one of the knobs, or refuses a value.
        """
        with self._journal.held(self._changes(configuration)) as settings:
            before = self._values()
            yield lambda: self._drift(settings, before)

    def _drift(self, settings: Sequence[Applied], before: Mapping[str, str]) -> tuple[str, ...]:
        ours, now = {setting.path for setting in settings}, self._values()
        found = self._journal.drift_of(settings) + tuple(
            f"{path} was {value} when the trial began and is {now[path]} now"
            for path, value in before.items()
            if path not in ours and path in now and now[path] != value
        )
        return found + tuple(map(str, kernel_tuners())) if found else ()

    def _values(self) -> dict[str, str]:
        """What the kernel is set to now, by file; without those that this process may not read.

        Read by this process itself: a helper may be in another network namespace than the server.
        """
        access, values = DirectAccess(self._root), {}
        for path in {path for knob in KERNEL_KNOBS for path in files_of(knob, self._root)}:
            with suppress(SettingRefused):
                values[path] = access.read(path)
        return values

    def _changes(self, configuration: Configuration) -> tuple[Change, ...]:
        names = kernel_part(configuration)
        places = {name: files_of(kernel_knob(name), self._root) for name in names}
        for name, files in places.items():
            if not files:
                raise SettingRefused(f"{name}: there is no {kernel_knob(name).path}")
        of_namespace = any(kernel_knob(name).knob.scope == "namespace" for name in names)
        if of_namespace and (wrong := other_namespace(self._journal.access)):
            raise SettingRefused(wrong)
        return tuple(
            Change(path=path, value=value, why="knob of the kernel")
            for path, value in file_values(configuration, places).items()
        )
