"""The pool of PHP processes behind a server, for workloads with dynamic requests (php-fpm, FastCGI).

Its size is a knob of the run, named after php-fpm's own setting. The pool is static: all processes are there
from the beginning, so that a configuration does not change while it is measured.
"""

from trimtab_trials.configuration import Configuration

from trimtab_tuner.space import Knob, Space
from trimtab_tuner.targets import values

POOL_SIZE = Knob(
    name="pm.max_children",
    kind="integer",
    scale="log",
    low=1,
    high=512,
    default=5,
    unit="processes",
    resource_weight=8000.0,
    scope="total",
    help="PHP processes behind the server, all of them there from the beginning.",
)

SOCKET = "php.sock"
FILE_NAME = "php-fpm.conf"


def with_pool(space: Space) -> Space:
    """The space with the size of the pool as one more knob to tune."""
    return space.model_copy(update={"knobs": (*space.knobs, POOL_SIZE)})


def pool_file(configuration: Configuration, socket: str, error_log: str) -> str:
    """php-fpm's configuration: one static pool. Raises RenderError if a path cannot be written in it."""
    path = values.unquoted_path(socket, "\"'; $=")
    log = values.unquoted_path(error_log, "\"'; $=")
    return (
        f"[global]\nerror_log = {log}\nlog_level = warning\ndaemonize = no\n\n"
        f"[www]\nlisten = {path}\nlisten.backlog = 1024\n"
        f"pm = static\npm.max_children = {configuration[POOL_SIZE.name]}\n"
    )


NGINX_PARAMETERS = {
    "SCRIPT_FILENAME": "$document_root$fastcgi_script_name",
    "SCRIPT_NAME": "$fastcgi_script_name",
    "QUERY_STRING": "$query_string",
    "REQUEST_METHOD": "$request_method",
    "REQUEST_URI": "$request_uri",
    "CONTENT_TYPE": "$content_type",
    "CONTENT_LENGTH": "$content_length",
    "SERVER_PROTOCOL": "$server_protocol",
}
"""What nginx tells PHP of a request; lighttpd does so by itself."""
