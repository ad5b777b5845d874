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
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    url = f"http://{host}:{port}"
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
            print(f"Trimtab is at {url}, Ctrl-C ends it.{said}", flush=True)
            serve(app, [listener, local])
