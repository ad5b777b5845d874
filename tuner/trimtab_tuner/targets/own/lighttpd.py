"""A user's own lighttpd.conf."""

import re
from collections.abc import Collection, Iterator, Sequence

from trimtab_trials.configuration import Configuration

from trimtab_tuner.targets import lighttpd
from trimtab_tuner.targets.assignments import with_values
from trimtab_tuner.targets.base import RenderContext
from trimtab_tuner.targets.own.editor import Include

# Settings that a private instance must not take over: where it would meet the production instance, sites, and
# what starts or asks other programs.
_NOT_PRIVATE = re.compile(
    r"(\$|else\b|server\.(document-root|bind|port|pid-file|errorlog|username|groupname|chroot|upload-dirs|"
    r"breakagelog|name|syslog-facility|errorlog-use-syslog|use-ipv6|socket-perms|systemd-socket-activation)\b|"
    r"(accesslog|ssl|fastcgi|scgi|cgi|proxy|auth|webdav|sockproxy|ajp13|wstunnel|status|rrdtool|deflate\.cache)"
    r"[.-])"
)
_INCLUDE = re.compile(r'include\s+"([^"]+)"\s*\Z')
_SHELL = re.compile(r'include_shell\s+"[^"]*"\s*\Z')
_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|#[^\n]*|[(){}\n]|[^"#(){}\n]+', re.DOTALL)


def statements(text: str) -> Iterator[tuple[int, int]]:
    """Where each statement outside of conditions begins and ends; comments belong to none."""
    depth, start = 0, None
    for piece in _PIECE.finditer(text):
        part = piece[0]
        if part in ("(", "{"):
            depth += 1
        elif part in (")", "}"):
            depth -= 1
        elif part == "\n" and depth == 0 and start is not None:
            yield start, piece.start()
            start = None
        if start is None and not part.isspace() and not part.startswith("#"):
            start = piece.start() + len(part) - len(part.lstrip())
    if start is not None:
        yield start, len(text)


class LighttpdOwn:
    """Edits lighttpd.conf."""

    def includes(self, text: str) -> Sequence[Include]:
        """Every `include` of a plain name outside of conditions."""
        found = []
        for start, end in statements(text):
            if match := _INCLUDE.match(text[start:end]):
                found.append(Include(start, end, match[1], "*" in match[1]))
        return found

    def changed(
        self, text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> str:
        """Settings are replaced where they stand, or added at the end."""
        values = {name: value for name, value in lighttpd.settings(configuration).items() if name in knobs}
        return with_values(text, lighttpd.assignments(text), values, joint=" = ")

    def private(
        self, text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> str:
        """The settings outside of conditions, with one site for the workload.

        What a program prints is included only if its call does not depend on the file's own settings.
        """
        kept = []
        for start, end in statements(text):
            statement = text[start:end]
            if _NOT_PRIVATE.match(statement):
                continue
            if statement.startswith("include_shell") and not _SHELL.match(statement):
                continue
            kept.append(statement)
        tuned = self.changed("\n".join(kept) + "\n", configuration, knobs, context)
        defined = {statement.split("=")[0].strip(" +:") for statement in kept}
        if any(statement.startswith("include_shell") for statement in kept):
            defined.add("mimetype.assign")  # which is what Debian's file has printed
        return tuned + lighttpd.surroundings(context, without=defined)
