"""A user's own h2o.conf: YAML, of which only the top level is looked at."""

import re
from collections.abc import Collection, Sequence

from trimtab_trials.configuration import Configuration

from trimtab_tuner.targets import h2o
from trimtab_tuner.targets.assignments import with_values
from trimtab_tuner.targets.base import RenderContext
from trimtab_tuner.targets.own.editor import Include

_NOT_PRIVATE = {"access-log", "error-log", "hosts", "listen", "pid-file", "temp-buffer-path", "user"}
_TOP_KEY = re.compile(r"^([A-Za-z][\w.-]*|\"[^\"\n]*\"|'[^'\n]*')\s*:", re.MULTILINE)


class H2oOwn:
    """Edits h2o.conf."""

    def includes(self, text: str) -> Sequence[Include]:
        """None that is followed: `!file` is resolved by h2o itself."""
        return ()

    def changed(
        self, text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> str:
        """Commands are replaced where they stand, or added at the end."""
        own = {knob.name for knob in h2o.KNOBS}
        values = {name: str(value) for name, value in configuration.items() if name in own & {*knobs}}
        return with_values(text, h2o.assignments(text), values, joint=": ")

    def private(
        self, text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> str:
        """The other top-level commands of the file, with one host for the workload."""
        starts = [match.start() for match in _TOP_KEY.finditer(text)]
        names = [match[1].strip("\"'") for match in _TOP_KEY.finditer(text)]
        ends = [*starts, len(text)][1:]
        kept = "".join(
            text[start:end]
            for name, start, end in zip(names, starts, ends, strict=True)
            if name not in _NOT_PRIVATE
        )
        tuned = self.changed(kept, configuration, knobs, context)
        if tuned and not tuned.endswith("\n"):
            tuned += "\n"
        return tuned + h2o.surroundings(context)
