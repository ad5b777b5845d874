"""The kernel as a run's exported files set it, for as long as a server is climbed from outside.

They are the files of sysctl and systemd-tmpfiles; what they name is set, checked against the values that the
run has measured, and put back. A climb under another kernel than the run's would be of something else: it is
not begun, and the knob is named.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from trimtab_agent.os_settings.access import DirectAccess, SettingRefused
from trimtab_trials.configuration import Configuration
from trimtab_tuner.targets.kernel import kernel_knob, kernel_part


def settings_of(exports: Path) -> dict[str, str]:
    """What the exported files set, by the kernel's file; a `*` in one stands for all there are."""
    sysctl, tmpfiles = exports / "90-trimtab.conf", exports / "tmpfiles-trimtab.conf"
    settings = {}
    for line in _settings_in(sysctl):
        key, _, value = line.partition("=")
        settings[f"/proc/sys/{key.strip().replace('.', '/')}"] = value.strip()
    for line in _settings_in(tmpfiles):
        _, path, *_, value = line.split()
        settings[path] = value
    return settings


@contextmanager
def kernel_set(
    settings: Mapping[str, str], began: Configuration, wanted: Configuration, root: Path = Path("/")
) -> Iterator[None]:
    """The kernel with these settings; afterwards as it was. `began` is what the run began with, and `wanted`
    what it has measured of the kernel; `root` stands before every path.

    Raises SystemExit with what cannot be set, or is not as one of them says.
    """
    access = DirectAccess(root)
    _check(access, root, kernel_part(began))
    with ExitStack() as undo:
        for pattern, value in settings.items():
            for path in _files(pattern, root):
                try:
                    before = access.read(path)
                    access.write(path, value)
                except SettingRefused as refusal:
                    raise SystemExit(
                        f"not climbed: the kernel's {path} cannot be set to {value}: {refusal}"
                    ) from refusal
                undo.callback(access.write, path, before)
        tuned = {name: value for name, value in kernel_part(wanted).items() if began.get(name) != value}
        _check(access, root, tuned)
        yield


def _check(access: DirectAccess, root: Path, part: Configuration) -> None:
    for name, value in part.items():
        knob = kernel_knob(name)
        for path in _files(knob.path, root):
            try:
                held = knob.value_in(access.read(path))
            except SettingRefused as refusal:
                raise SystemExit(f"not climbed: the kernel's {name} cannot be read: {refusal}") from refusal
            if held != value:
                raise SystemExit(f"not climbed: the kernel's {name} is {held}, and was {value} in the run")


def _settings_in(file: Path) -> list[str]:
    """The lines of a file that set something; none where the run has not exported it."""
    lines = file.read_text().splitlines() if file.exists() else []
    return [line for line in map(str.strip, lines) if line and not line.startswith("#")]


def _files(pattern: str, root: Path) -> list[str]:
    """The kernel's files of that name; one without a `*` is there or refuses to be read."""
    if "*" not in pattern:
        return [pattern]
    return sorted(f"/{file.relative_to(root)}" for file in root.glob(pattern.removeprefix("/")))
