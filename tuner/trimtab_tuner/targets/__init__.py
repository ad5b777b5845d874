"""The targets that can be tuned, and the formats a result can be exported in, by name."""

from trimtab_tuner.targets.apache import ApacheTarget
from trimtab_tuner.targets.base import Exporter, Target
from trimtab_tuner.targets.core import CoreExporter, CoreTarget
from trimtab_tuner.targets.core_as_nginx import NginxExporter
from trimtab_tuner.targets.h2o import H2oTarget
from trimtab_tuner.targets.lighttpd import LighttpdTarget
from trimtab_tuner.targets.nginx import NginxTarget
from trimtab_tuner.targets.own_file import OwnFileExporter

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (CoreTarget(), NginxTarget(), LighttpdTarget(), ApacheTarget(), H2oTarget())
}

EXPORTERS: dict[str, Exporter] = {exporter.format: exporter for exporter in (CoreExporter(), NginxExporter())}


def exporters(target: Target) -> tuple[Exporter, ...]:
    """What a configuration of this target can be written as."""
    return tuple(EXPORTERS.values()) if target.name == "core" else (OwnFileExporter(target),)
