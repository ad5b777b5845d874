"""php-fpm: a pool of PHP processes behind a server that speaks FastCGI.

Knobs are the settings of a pool (php.net/manual/en/install.fpm.configuration.php) and of OPcache, their
defaults those of Debian's pool `www`. php-fpm refuses spare processes beyond `pm.max_children`, and a start
outside of them: Trimtab writes what is nearest.
"""

from typing import Literal

from trimtab_trials.configuration import Configuration

from trimtab_tuner.roles import Role
from trimtab_tuner.space import Knob, OnlyWith
from trimtab_tuner.targets import values
from trimtab_tuner.targets.backends.base import BackendContext, processes
from trimtab_tuner.targets.base import About, no_comment

CHILDREN = processes(
    "pm.max_children", 5, 512, 8000.0, "PHP processes behind the server at most, each with one request."
).model_copy(update={"role": Role.BACKEND_WORKERS})


def _spare(name: str, default: int, what: str) -> Knob:
    return Knob(
        name=name,
        kind="integer",
        scale="log",
        low=1,
        high=512,
        default=default,
        unit="processes",
        help=f"{what}; only with pm = dynamic.",
    )


KNOBS = (
    Knob(
        name="pm",
        kind="categorical",
        choices=("static", "dynamic", "ondemand"),
        default="dynamic",
        help="Whether all PHP processes are there from the beginning, come and go with the load, or are "
        "started for requests.",
    ),
    CHILDREN,
    _spare("pm.start_servers", 2, "PHP processes at the start"),
    _spare("pm.min_spare_servers", 1, "Idle PHP processes at least"),
    _spare("pm.max_spare_servers", 3, "Idle PHP processes at most"),
    Knob(
        name="pm.max_requests",
        kind="ordinal",
        choices=(0, 100, 500, 1000, 10_000),
        default=0,
        unit="requests",
        help="Requests after which a PHP process is replaced, so that leaks end with it; 0: never.",
    ),
    Knob(
        name="opcache.enable",
        kind="categorical",
        choices=("off", "on"),
        default="on",
        help="Whether compiled scripts are kept in memory that all PHP processes share.",
    ),
    Knob(
        name="opcache.validate_timestamps",
        kind="categorical",
        choices=("off", "on"),
        default="on",
        help="Whether a kept script is looked up on disk, every two seconds, for being changed.",
    ),
)

SOCKET = "php.sock"
STATUS_PATH = "/trimtab-status"
PAGE = """<?php
// Makes a page of `size` bytes (8192 if not given), each 64 of them a SHA-256 of those before.
$size = max(1, min(1048576, (int)($_GET['size'] ?? 8192)));
$text = '';
$hash = 'trimtab';
while (strlen($text) < $size) {
    $hash = hash('sha256', $hash);
    $text .= $hash;
}
header('Content-Type: text/plain');
header('Content-Length: ' . $size);
echo substr($text, 0, $size);
"""


class PhpFpm:
    """php-fpm with one pool."""

    name = "php"
    help = "A page of PHP, in a pool of php-fpm."
    speaks: Literal["fastcgi", "http"] = "fastcgi"
    package = "php-fpm"
    file_name = "php-fpm.conf"
    knobs = KNOBS
    free = ("pm", "pm.max_children")
    constraints: tuple[OnlyWith, ...] = ()
    children = CHILDREN.name
    path = script_path = "/dynamic/page.php"
    script = PAGE

    def render(self, configuration: Configuration, context: BackendContext, about: About = no_comment) -> str:
        """One pool, at a socket in the file system. Raises RenderError."""

        def path(text: str) -> str:
            return values.unquoted_path(text, "\"'; $=")

        def comment(name: str) -> str:
            return about(name).replace("# ", "; ")

        lines = [
            f"[global]\nerror_log = {path(context.error_log)}\nlog_level = warning\ndaemonize = no\n",
            f"[www]\nlisten = {path(context.address)}\nlisten.backlog = 1024",
        ]
        if context.user is not None:
            names = ("user", "group", "listen.owner", "listen.group")
            lines.append("\n".join(f"{name} = {context.user}" for name in names))
        if context.status is not None:
            lines.append(f"pm.status_path = {STATUS_PATH}\npm.status_listen = {path(context.status)}")
        lines += [comment(name) + f"{name} = {value}" for name, value in _pool(configuration).items()]
        lines += [
            comment(name) + f"php_admin_flag[{name}] = {configuration[name]}"
            for name in ("opcache.enable", "opcache.validate_timestamps")
        ]
        return "\n".join(lines) + "\n"

    def check_command(self, file: str, program: str) -> tuple[str, ...]:
        """`php-fpm -t`."""
        return (program, "-t", "--fpm-config", file)

    def start_command(self, file: str, program: str) -> tuple[str, ...]:
        """php-fpm in the foreground."""
        return (program, "--nodaemonize", "--fpm-config", file)


def _pool(configuration: Configuration) -> dict[str, object]:
    """The settings of the pool as php-fpm takes them."""
    children = int(configuration[CHILDREN.name])
    pool: dict[str, object] = {"pm": configuration["pm"], CHILDREN.name: children}
    if configuration["pm"] == "dynamic":
        most = min(children, int(configuration["pm.max_spare_servers"]))
        least = min(most, int(configuration["pm.min_spare_servers"]))
        pool["pm.start_servers"] = max(least, min(most, int(configuration["pm.start_servers"])))
        pool |= {"pm.min_spare_servers": least, "pm.max_spare_servers": most}
    return pool | {"pm.max_requests": configuration["pm.max_requests"]}


BACKEND = PhpFpm()
