"""The daemon behind `trimtab up`: API and web UI on one port, runs in the background.

Commands of its own user reach the same API through a socket in its directory (`local.py`).
"""

import threading

from trimtab_tuner.understanding.importance import load_trees

from trimtab_agent.api.access import Access
from trimtab_agent.api.app import create_app
from trimtab_agent.api.context import Context
from trimtab_agent.api.local import listen_locally, only_daemon
from trimtab_agent.api.serve import listen, serve
from trimtab_agent.api.uploads import Uploads
from trimtab_agent.results.analysis import Analyses
from trimtab_agent.runtime import open_runtime
from trimtab_agent.settings import AgentSettings
from trimtab_agent.simulated.demo import SAID


def run_daemon(settings: AgentSettings) -> None:
    """Serves until SIGTERM or SIGINT; a run that is going on is stopped then, and can be resumed.

    Raises HostError when the port is in use, access would be open to everybody, or the directory has a daemon
    already; DatabaseError.
    """
    listener = listen(settings)
    port: int = listener.getsockname()[1]
    access = Access(settings, port)
    url = _url(settings, port)
    with listener, only_daemon(settings.var, url) as lock, open_runtime(settings) as runtime:
        lock.tell(database=runtime.repository.place)  # before commands can ask
        # Joined at the end of the process: an import that is cut off in the middle may end it with an abort.
        threading.Thread(target=load_trees, name="loading").start()
        app = create_app(
            settings,
            Context(
                settings=settings,
                service=runtime.service,
                live=runtime.live,
                live_servers=settings.live_servers,
                base_files=settings.base_files,
                sites=settings.sites,
                uploads=Uploads(settings),
                affinity=runtime.affinity,
                repository=runtime.repository,
                broadcaster=runtime.broadcaster,
                sampler=runtime.sampler,
                recorder=runtime.recorder,
                host_id=runtime.host_id,
                layout=runtime.layout,
                access=access,
                analyses=Analyses(runtime.repository),
            ),
        )
        with listen_locally(settings.var) as local:
            said = f" {SAID}, in {settings.var}." if settings.demo else ""
            print(f"Trimtab is at {url}, Ctrl-C ends it.{said}{_elsewhere(settings, port)}", flush=True)
            serve(app, [listener, local])


def _url(settings: AgentSettings, port: int) -> str:
    """An address that a browser on this machine can open: 0.0.0.0 and :: are none."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _elsewhere(settings: AgentSettings, port: int) -> str:
    """How browsers of other machines reach a daemon that listens on all addresses."""
    if settings.host not in ("0.0.0.0", "::"):  # noqa: S104
        return ""
    if not settings.extra_hosts:
        return (
            f" From other machines: http://NAME:{port}, where NAME is one that you have set in "
            "TRIMTAB_EXTRA_HOSTS."
        )
    names = (name if ":" in name.rpartition("]")[2] else f"{name}:{port}" for name in settings.extra_hosts)
    return f" From other machines: {', '.join(f'http://{name}' for name in names)}."
