"""Knobs of the kernel, set for the time of a trial on top of what is in force; just that is taken back."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from trimtab_trials.configuration import Configuration
from trimtab_tuner.targets.kernel import file_values, kernel_knob, kernel_part

from trimtab_agent.kernel.reading import files_of, other_namespace
from trimtab_agent.os_settings.access import SettingRefused
from trimtab_agent.os_settings.journal import Applied, Change, SettingsJournal


class KernelTuning:
    """Sets the knobs of the kernel of this machine. Safe to call from one thread at a time."""

    def __init__(self, journal: SettingsJournal, root: Path = Path("/")) -> None:
        self._journal = journal
        self._root = root

    @contextmanager
    def for_configuration(self, configuration: Configuration) -> Iterator[tuple[Applied, ...]]:
        """What the configuration says of the kernel; put back whatever ends it, if it says anything.

        Raises SettingRefused when the kernel lacks one of the knobs, or refuses a value.
        """
        with self._journal.held(self._changes(configuration)) as settings:
            yield settings

    def drift_of(self, settings: Sequence[Applied]) -> tuple[str, ...]:
        """A sentence for each of the settings that somebody else has changed since."""
        return self._journal.drift_of(settings)

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
