"""Certificates that mod_md looks after (`MDomain`): a private Apache asks nobody for any.

What the file says of them is left out. A site that speaks TLS and has no certificate in the file, since
mod_md finds it one, gets a made one, which whoever starts the instance makes (`tls.made_file`).
"""

from collections.abc import Iterator, Sequence

from trimtab_trials.configuration import Configuration

from trimtab_tuner.targets import tls
from trimtab_tuner.targets.base import RenderContext
from trimtab_tuner.targets.private import OTHERS_ASKED, Change
from trimtab_tuner.targets.servers.apache import levels
from trimtab_tuner.targets.servers.apache.rendering import quoted
from trimtab_tuner.targets.servers.apache.syntax import Line

_CERTIFICATE = "sslcertificatefile"
_DOMAINS = ("manageddomain", "mdomain")  # what names and sections of managed domains begin with


def is_said_in(line: Line) -> bool:
    """Whether a line is one of mod_md's."""
    return line.name.startswith(_DOMAINS) or (line.is_directive and line.name.startswith("md"))


def left_out(line: Line) -> Change:
    """The line without which nobody is asked."""
    what = f"{' '.join(line.text.split())} {OTHERS_ASKED}"
    return Change(line.start, line.end, "", "" if line.closes else what)


def changes(lines: Sequence[Line], configuration: Configuration, context: RenderContext) -> Iterator[Change]:
    """A certificate for each site that has none because mod_md would fetch it, under the conditions that it
    speaks TLS under.
    """
    if not any(line.name.startswith(_DOMAINS) for line in lines):
        return
    given = {line.site for line in lines if line.name == _CERTIFICATE and line.words}
    if 0 in given:  # it holds for all
        return
    names = levels.called(lines)
    for site in sorted(levels.secure(lines) - given):
        line = next(each for each in lines if each.name == "sslengine" and each.site == site)
        called = names.get(site) or f"number {site}"
        yield Change(line.end, line.end, _certificate(configuration, context), f"the site {called} {_MADE}")


_MADE = "has a made certificate, RSA of 2,048 bits, in place of that which mod_md would ask others for"


def _certificate(configuration: Configuration, context: RenderContext) -> str:
    """Lines that name a made one; where TLS is measured, that of the run."""
    if context.tls_directory is None:
        return f"\n    SSLCertificateFile {quoted(tls.made_file(context.prefix))}"
    kind = configuration[tls.KEY.name]
    return (
        f"\n    SSLCertificateFile {quoted(tls.certificate_file(context.tls_directory, kind))}"
        f"\n    SSLCertificateKeyFile {quoted(tls.key_file(context.tls_directory, kind))}"
    )


def store(lines: Sequence[Line], prefix: str) -> str:
    """The folder of the instance for mod_md, which makes one as it starts, whether it has work or not; ""
    where the file says nothing of it.
    """
    loaded = any(line.name == "loadmodule" and line.first == "md_module" for line in lines)
    if not loaded and not any(map(is_said_in, lines)):
        return ""
    return f"<IfModule mod_md.c>\n    MDStoreDir {quoted(prefix + '/md')}\n</IfModule>\n"
