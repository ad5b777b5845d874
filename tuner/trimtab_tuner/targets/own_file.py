"""A configuration of a target in that target's own language, with the evidence for every setting."""

from trimtab_tuner.records import Configuration
from trimtab_tuner.targets import evidence as say
from trimtab_tuner.targets.base import Evidence, RenderContext, Target


class OwnFileExporter:
    """Writes the complete configuration file of a target that has been measured itself."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.format = target.program
        self.file_name = target.file_name

    def export(self, configuration: Configuration, context: RenderContext, evidence: Evidence) -> str:
        """The file with comments. Raises RenderError if a path cannot be written in it."""
        target = self._target
        knobs = {knob.name: knob for knob in target.space().knobs}

        def about(name: str) -> str:
            sentences = [
                say.what(knobs[name], configuration[name], evidence),
                say.effect(knobs[name], configuration, evidence),
            ]
            if name in target.verify_live:
                sentences.append(f"Verify live: {target.verify_live[name]}")
            return say.comment(*sentences)

        start = " ".join(target.start_command(self.file_name))
        return say.header(target.name, start, evidence) + target.render(configuration, context, about)

    def check_command(self, file: str, binary: str | None = None) -> tuple[str, ...]:
        """The server's own check."""
        return self._target.check_command(file, binary)
