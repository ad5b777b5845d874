"""The targets that can be tuned, by name."""

from trimtab_tuner.targets.apache import ApacheTarget
from trimtab_tuner.targets.base import Target
from trimtab_tuner.targets.core import CoreTarget
from trimtab_tuner.targets.h2o import H2oTarget
from trimtab_tuner.targets.lighttpd import LighttpdTarget
from trimtab_tuner.targets.nginx import NginxTarget

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (CoreTarget(), NginxTarget(), LighttpdTarget(), ApacheTarget(), H2oTarget())
}
