"""An apache2.conf stays with the MPM that it is written for: its knobs, its limits, its meaning to others."""

import pytest
from trimtab_tuner.exports.lifting import lift
from trimtab_tuner.exports.translation import translate
from trimtab_tuner.roles import Role
from trimtab_tuner.space import SpaceError
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderContext, RenderError, space_of
from trimtab_tuner.targets.editing import changed_knobs, own_values
from trimtab_tuner.targets.equivalents import equivalents_of
from trimtab_tuner.targets.pauses import Pauses, Room

APACHE = TARGETS["apache"]
CONTEXT = RenderContext(root="/srv", listen=("127.0.0.1:8000",), server_cpus=(0,), prefix="/x")
HEAD = "Listen 80\nLoadModule mpm_{0}_module modules/mod_mpm_{0}.so\n"
PREFORK = (
    HEAD.format("prefork")
    + """\
<IfModule mpm_prefork_module>
    StartServers 5
    MinSpareServers 5
    MaxSpareServers 10
    MaxRequestWorkers 150
</IfModule>
<IfModule mpm_event_module>
    ThreadsPerChild 30
    MaxRequestWorkers 400
</IfModule>
KeepAlive Off
"""
)
WORKER = (
    HEAD.format("worker")
    + """\
<IfModule worker.c>
    ServerLimit 8
    StartServers 2
    MaxSpareThreads 75
    ThreadsPerChild 25
    MaxClients 150
</IfModule>
"""
)
UNDER_CONDITIONS = """\
<IfModule !mpm_event_module>
    LoadModule mpm_prefork_module p.so
</IfModule>
<IfModule !prefork.c>
    LoadModule mpm_worker_module w.so
</IfModule>
"""
OF_THREADS = {"ServerLimit", "ThreadsPerChild"}


def names(text):
    """The knobs of the space that a file has."""
    return {knob.name for knob in space_of(APACHE, own_values(APACHE, text, 1), 1).knobs}


def in_force(text):
    """The lines that are no comment."""
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


def test_each_mpm_has_knobs_of_its_own():
    """What another one has is neither offered nor read."""
    event = {knob.name for knob in APACHE.space().knobs}
    assert names(PREFORK) == event - OF_THREADS - {"AsyncRequestWorkerFactor"}
    assert names(WORKER) == event - {"AsyncRequestWorkerFactor"}
    assert names(HEAD.format("event")) == names("Listen 80\n") == event


def test_the_default_is_what_the_file_says_of_its_own_mpm():
    """Sections of others do not count; MaxClients is the old name of MaxRequestWorkers."""
    own = own_values(APACHE, PREFORK, 1)
    assert (own["mpm"], own["MaxRequestWorkers"], own["KeepAlive"]) == ("prefork", 150, "off")
    own = own_values(APACHE, WORKER, 1)
    told = {"mpm": "worker", "ServerLimit": 8, "ThreadsPerChild": 25, "MaxRequestWorkers": 150}
    assert {name: own[name] for name in told} == told
    assert own_values(APACHE, HEAD.format("prefork"), 1)["MaxRequestWorkers"] == 256
    assert own_values(APACHE, HEAD.format("worker") + "ServerLimit 32\n", 1)["MaxRequestWorkers"] == 400


@pytest.mark.parametrize(
    ("lines", "mpm"),
    [
        ("", "event"),
        ("<IfModule prefork.c>\n</IfModule>\n", "prefork"),
        ("<IfModule mpm_event_module>\n</IfModule>\n<IfModule prefork.c>\n</IfModule>\n", "event"),
        (
            UNDER_CONDITIONS,
            "prefork",
        ),
        ("<IfModule mpm_event_module>\nLoadModule mpm_worker_module w.so\n</IfModule>\n", "event"),
    ],
    ids=["nothing", "one section", "a section for event too", "under conditions", "never"],
)
def test_the_mpm_in_force_is_found(lines, mpm):
    """By what is loaded, else by what there are sections for."""
    assert own_values(APACHE, f"Listen 80\n{lines}", 1)["mpm"] == mpm


def test_workers_that_the_limit_of_the_file_does_not_allow_are_those_that_it_allows():
    """Apache takes them down to it; both are told."""
    text = HEAD.format("prefork") + "ServerLimit 100\nMaxRequestWorkers 300\nStartServers 200\n"
    assert own_values(APACHE, text, 1)["MaxRequestWorkers"] == 100
    assert own_values(APACHE, HEAD.format("prefork") + "ServerLimit 64\n", 1)["MaxRequestWorkers"] == 64
    assert [each.text for each in APACHE.told(text) if each.kind == "corrected"] == [
        "MaxRequestWorkers 300: Apache takes 100, as ServerLimit 100 allows no more",
        "StartServers 200: Apache takes 100, as ServerLimit 100 allows no more",
    ]


def test_prefork_gets_the_limits_that_go_with_its_processes_and_nothing_else_changes():
    """As many are measured all the time: so many start, and none ends for being idle."""
    tuned = {**own_values(APACHE, PREFORK, 1), "MaxRequestWorkers": 400}
    assert changed_knobs(APACHE, PREFORK, tuned, 1) == ("MaxRequestWorkers",)
    after = APACHE.changed(PREFORK, tuned, ("MaxRequestWorkers",), CONTEXT)
    own = PREFORK.replace("MaxRequestWorkers 150", "MaxRequestWorkers 400")
    own = own.replace("StartServers 5", "StartServers 400").replace(
        "MaxSpareServers 10", "MaxSpareServers 400"
    )
    assert after == own + "ServerLimit 400\n"
    assert own_values(APACHE, after, 1) == tuned
    fewer = {**tuned, "MaxRequestWorkers": 4}
    after = APACHE.changed(PREFORK, fewer, ("MaxRequestWorkers",), CONTEXT)
    assert after == PREFORK.replace("MaxRequestWorkers 150", "MaxRequestWorkers 4")
    other = {**tuned, "KeepAlive": "on"}
    assert APACHE.changed(PREFORK, other, ("KeepAlive",), CONTEXT) == PREFORK.replace("Off", "on")


def test_threads_of_worker_get_the_limits_that_go_with_them():
    """In the section for it, by the name that the file has for them."""
    tuned = {**own_values(APACHE, WORKER, 1), "ThreadsPerChild": 100, "MaxRequestWorkers": 800}
    after = APACHE.changed(WORKER, tuned, ("ThreadsPerChild", "MaxRequestWorkers"), CONTEXT)
    own = WORKER.replace("ThreadsPerChild 25", "ThreadsPerChild 100").replace("Clients 150", "Clients 800")
    own = own.replace("StartServers 2", "StartServers 8").replace("SpareThreads 75", "SpareThreads 800")
    assert after == own + "ThreadLimit 100\n"
    assert own_values(APACHE, after, 1) == tuned


@pytest.mark.parametrize(("mpm", "others"), [("prefork", ("event", "worker")), ("worker", ("event",))])
def test_the_measured_file_loads_the_mpm_of_the_file_alone(mpm, others):
    """Before the sections that ask for it, where the file itself loads none; with all processes at once."""
    text = f"Listen 80\n<IfModule mpm_{mpm}_module>\n    StartServers 2\n</IfModule>\n"
    own = own_values(APACHE, text, 1)
    lines = in_force(APACHE.private(text, own, (), CONTEXT))
    (loaded,) = [line for line in lines if line.startswith("LoadModule mpm_")]
    assert loaded.split()[1] == f"mpm_{mpm}_module"
    assert lines.index(loaded) < lines.index(f"<IfModule mpm_{mpm}_module>")
    said = {line.split()[0] for line in lines}
    assert ("MaxSpareServers" in said, "MaxSpareThreads" in said) == (mpm == "prefork", mpm == "worker")
    assert not {"AsyncRequestWorkerFactor"} & said
    starting = 256 if mpm == "prefork" else 16
    assert [line for line in lines if line.startswith("StartServers")] == [f"StartServers {starting}"]
    for module in others:
        assert not any(f"mpm_{module}" in line for line in lines)


def test_the_measured_file_has_as_many_processes_of_prefork_as_are_tried():
    """Also above the limit of the file, which else stays."""
    tuned = {**own_values(APACHE, PREFORK, 1), "MaxRequestWorkers": 300}
    assert "ServerLimit 300" in in_force(APACHE.private(PREFORK, tuned, ("MaxRequestWorkers",), CONTEXT))
    enough = PREFORK + "ServerLimit 500\n"
    lines = in_force(APACHE.private(enough, tuned, ("MaxRequestWorkers",), CONTEXT))
    assert [line for line in lines if "ServerLimit" in line] == ["ServerLimit 500"]


@pytest.mark.parametrize("directive", ["MaxConnectionsPerChild", "MaxRequestsPerChild"])
def test_no_process_of_the_measured_file_ends_after_so_many_connections(directive):
    """A worker that ends is taken for one that has crashed; what is left out is named, and none ends at 0."""
    text = f"{PREFORK}{directive} 1000\n"
    private = APACHE.private(text, own_values(APACHE, text, 1), (), CONTEXT)
    assert f"# {directive} 1000 is left out: no process ends while it is measured" in private
    assert not any(directive in line for line in in_force(private))
    never = f"{PREFORK}{directive} 0\n"
    lines = in_force(APACHE.private(never, own_values(APACHE, never, 1), (), CONTEXT))
    assert f"{directive} 0" in lines


def test_the_measured_file_says_how_many_requests_are_worked_on_where_the_users_does_not():
    """Left to Apache they would be 400, whatever is tried."""
    text = HEAD.format("event")
    tuned = {**own_values(APACHE, text, 1), "ServerLimit": 32}
    assert "MaxRequestWorkers 800" in in_force(APACHE.private(text, tuned, ("ServerLimit",), CONTEXT))


@pytest.mark.parametrize("mpm", ["event", "worker", "prefork"])
def test_a_file_of_ours_is_read_back_as_it_was_made(mpm):
    """With the module of the MPM, and no directive of another."""
    default = APACHE.space(mpm).default()
    text = APACHE.render(default, CONTEXT)
    read = own_values(APACHE, text, 1)
    # As a number, what `all` comes to.
    most = default["MaxRequestWorkers"] if mpm == "prefork" else 400
    assert read == {**default, "MaxRequestWorkers": most}
    assert f"LoadModule mpm_{mpm}_module" in text
    assert ("ThreadsPerChild" in text) == (mpm != "prefork")


def test_a_file_never_becomes_one_for_another_mpm():
    """The knob has one value, whatever is asked for."""
    for mpm in ("event", "worker", "prefork"):
        space = APACHE.space(mpm)
        assert "mpm" in space.fixed
        with pytest.raises(SpaceError):
            space.fix("mpm", "winnt")
    with pytest.raises(RenderError, match="expected one of event, worker, prefork"):
        APACHE.space("itk")


def test_one_process_of_prefork_has_one_connection():
    """Kept-open ones too: so many processes, so many visitors; threads of worker have one each."""
    prefork, worker = own_values(APACHE, PREFORK, 1), own_values(APACHE, WORKER, 1)
    assert APACHE.demands(prefork).connections == 1
    assert APACHE.workers_to_pin(prefork).count == 150
    assert APACHE.demands(worker).connections == 25
    assert APACHE.workers_to_pin(worker).count == 6
    for configuration in (prefork, worker):
        meaning = equivalents_of(APACHE.equivalents, configuration)[Role.CONNECTIONS]
        assert meaning.read(configuration) == 150


def test_processes_of_prefork_are_connections_of_another_server_and_not_its_workers():
    """A worker of nginx has many."""
    nginx = TARGETS["nginx"]
    own = own_values(APACHE, PREFORK, 1)
    translation = translate(APACHE, own, nginx, 4)
    assert translation.configuration["worker_processes"] == nginx.space(cpus=4).default()["worker_processes"]
    assert translation.origins["worker_connections"] == "MaxRequestWorkers"
    worker = translate(APACHE, own_values(APACHE, WORKER, 1), nginx, 4)
    assert worker.configuration["worker_processes"] == 8


def test_limit_for_real_pauses_fits_the_memory_of_a_process_for_each_visitor():
    """Not what a connection costs a server that has many in a process."""
    pauses = Pauses(
        time_scale=0.1,
        timeout_s=1.0,
        requests=7.0,
        pause_s=3.0,
        transfer_s=0.1,
        sessions_rps=500.0,
        most_sessions_rps=1000.0,
    )
    own = own_values(APACHE, PREFORK, 1)
    roomy = lift(APACHE, own, 1, pauses, Room(descriptors=1000, memory_bytes=64 << 30))
    assert roomy.knob == "MaxRequestWorkers"
    assert roomy.value == 1024  # the highest that is tried
    narrow = lift(APACHE, own, 1, pauses, Room(descriptors=1000, memory_bytes=2 << 30, measured=True))
    assert narrow.value * APACHE.space("prefork").knob("MaxRequestWorkers").resource_weight <= 1 << 20
    assert "assumed" in narrow.sentences()[2]


def test_processes_become_no_more_than_a_reload_of_prefork_allows():
    """ServerLimit is read at the start alone."""
    beside = APACHE.beside
    assert beside.most_by_reload(PREFORK) == {"MaxRequestWorkers": 256}
    assert beside.most_by_reload(f"{PREFORK}ServerLimit 300\n") == {"MaxRequestWorkers": 300}
    assert beside.most_by_reload(WORKER) == {"ThreadsPerChild": 64}


def test_workers_that_are_busy_are_the_open_connections_where_the_server_does_not_count_them():
    """Its page says nothing of them but with event."""
    page = "Total Accesses: 37\nTotal kBytes: 10\nBusyWorkers: 3\nIdleWorkers: 147\n"
    assert APACHE.parse_status(page)["connections_open"] == 3
