"""The targets that can be tuned, and the formats a result can be exported in, by name."""

from trimtab_tuner.targets.base import Exporter, Target
from trimtab_tuner.targets.core import CoreExporter, CoreTarget
from trimtab_tuner.targets.nginx import NginxExporter

TARGETS: dict[str, Target] = {target.name: target for target in (CoreTarget(),)}

EXPORTERS: dict[str, Exporter] = {exporter.format: exporter for exporter in (CoreExporter(), NginxExporter())}
