"""A user's own INI file of trimtab-httpd."""

from collections.abc import Collection, Sequence

from trimtab_trials.configuration import Configuration

from trimtab_tuner.targets import core
from trimtab_tuner.targets.assignments import with_values
from trimtab_tuner.targets.base import RenderContext
from trimtab_tuner.targets.own.editor import Edit, Include, apply


class CoreOwn:
    """Edits trimtab-httpd.ini."""

    def includes(self, text: str) -> Sequence[Include]:
        """None: the file cannot include others."""
        return ()

    def changed(
        self, text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> str:
        """Keys are replaced where they stand, or added at the end."""
        values = {n: str(v) for n, v in core.settings(configuration, context).items() if n in knobs}
        return with_values(text, core.assignments(text), values, joint=" = ")

    def private(
        self, text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> str:
        """The file with root, address and stats socket of its own."""
        surroundings = {name: str(value) for name, value in core.surroundings(context).items()}
        dropped = ("root", "listen", "stats_socket", "access_log")
        edits: list[Edit] = []
        for found in core.assignments(text):
            if found.name in dropped:
                start = text.rfind("\n", 0, found.start) + 1
                edits.append((start, found.end, ""))
        bare = self.changed(apply(text, edits), configuration, knobs, context)
        if not bare.endswith("\n"):
            bare += "\n"
        return bare + "".join(f"{name} = {value}\n" for name, value in surroundings.items())
