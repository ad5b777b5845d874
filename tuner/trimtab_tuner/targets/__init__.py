"""The targets that can be tuned, by name: what the modules of `targets.servers` have as `TARGET`."""

import importlib
import pkgutil

from trimtab_tuner.targets import servers
from trimtab_tuner.targets.base import Target


def find_targets() -> dict[str, Target]:
    """Ours first, the others in the order of their names."""
    names = [module.name for module in pkgutil.iter_modules(servers.__path__)]
    modules = [importlib.import_module(f"{servers.__name__}.{name}") for name in names]
    targets: list[Target] = [module.TARGET for module in modules]
    return {
        each.name: each for each in sorted(targets, key=lambda each: (each.package is not None, each.name))
    }


TARGETS = find_targets()
