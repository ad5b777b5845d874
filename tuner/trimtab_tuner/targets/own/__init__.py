"""A user's own configuration file as the starting point of a run (`trimtab tune --base FILE`), by target."""

from trimtab_tuner.targets.own.apache import ApacheOwn
from trimtab_tuner.targets.own.core import CoreOwn
from trimtab_tuner.targets.own.editor import Editor, Include, changed_knobs, own_values
from trimtab_tuner.targets.own.h2o import H2oOwn
from trimtab_tuner.targets.own.lighttpd import LighttpdOwn
from trimtab_tuner.targets.own.nginx import NginxOwn

__all__ = ["EDITORS", "Editor", "Include", "changed_knobs", "own_values"]

EDITORS: dict[str, Editor] = {
    "core": CoreOwn(),
    "nginx": NginxOwn(),
    "lighttpd": LighttpdOwn(),
    "apache": ApacheOwn(),
    "h2o": H2oOwn(),
}
