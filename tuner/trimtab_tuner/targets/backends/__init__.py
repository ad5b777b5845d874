"""The backends by name, and the space of a server with one of them behind it."""

from collections.abc import Mapping

from trimtab_tuner.space import Space
from trimtab_tuner.targets.backends import php_fpm, python_servers
from trimtab_tuner.targets.backends.base import Backend

BACKENDS: Mapping[str, Backend] = {
    backend.name: backend for backend in (php_fpm.BACKEND, python_servers.GUNICORN, python_servers.UVICORN)
}


def backend_of(configuration: Mapping[str, object]) -> Backend | None:
    """The backend that a configuration has knobs of; None without any."""
    return next((each for each in BACKENDS.values() if each.children in configuration), None)


def with_backend(space: Space, backend: Backend) -> Space:
    """The space with the knobs of a backend, those free that a run tunes by default."""
    fixed = {knob.name: knob.default for knob in backend.knobs if knob.name not in backend.free}
    return space.model_copy(
        update={
            "knobs": (*space.knobs, *backend.knobs),
            "fixed": {**space.fixed, **fixed},
            "constraints": (*space.constraints, *backend.constraints),
        }
    )
