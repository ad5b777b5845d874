"""The commands by name, each loaded when it is asked for: most need little of what one of them needs."""

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from trimtab_agent.terminal.commands.options import Commands

# Each name in the order of the help, with the module in `commands`; None for those of the program itself.
MODULES = {
    "tune": "tune", "capacity": "capacity", "runs": "runs", "show": "runs", "name": "runs", "archive": "runs",
    "export": "runs", "delete": "runs", "check": "check", "compare": "compare", "replay": "replay",
    "targets": "targets", "up": None, "db": None, "host": "host", "affinity": "affinity", "fleet": "fleet",
    "live": "live", "load": "load", "station": "station", "study": "study", "workload": "workload",
}  # fmt: skip


class _Loaded(MutableMapping[str, Any]):
    """The commands; those that have not been asked for yet are only names."""

    def __init__(self, own: dict[str, Any]) -> None:
        self._loaded = own

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - the parser's class of commands is private
        if name not in self._loaded:
            self._loaded[name] = _load(name, MODULES[name])
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:  # noqa: ANN401
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


def _load(name: str, module: str | None) -> Any:  # noqa: ANN401
    """The command, or the group of commands, of that name in its module."""
    if module is None:
        raise KeyError(name)
    loaded = import_module(f"trimtab_agent.terminal.commands.{module}")
    around = Commands(add_completion=False)
    around.callback()(lambda: None)  # so that it is a group
    if hasattr(loaded, "app"):
        around.add_typer(loaded.app)
    else:
        around.command()(getattr(loaded, name))
    return typer.main.get_command(around).commands[name]  # type: ignore[attr-defined]


class CommandsOnDemand(TyperGroup):
    """The group of all commands of the program."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401
        super().__init__(**options)
        self.commands = _Loaded(dict(self.commands))

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401
        """Their names, without loading them."""
        del ctx
        return list(MODULES)
