"""What a backend's file says for the values of its knobs."""

import ast

import pytest
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.backends import BACKENDS, backend_of, with_backend
from trimtab_tuner.targets.backends.base import BackendContext
from trimtab_tuner.workloads import WORKLOADS

CONTEXT = BackendContext(
    address="127.0.0.1:9000", directory="/srv/app", prefix="/var/own", error_log="/var/own/log"
)


def rendered(name, **changed):
    """The file of a backend with these values, the others at their defaults."""
    backend = BACKENDS[name]
    values = {knob.name: knob.default for knob in backend.knobs} | changed
    return backend.render(values, CONTEXT, lambda knob: f"# about {knob}\n")


@pytest.mark.parametrize("name", BACKENDS)
def test_space_has_the_knobs_beside_the_servers(name):
    """Those free that are tuned by default; the defaults are a configuration that it allows."""
    backend = BACKENDS[name]
    space = with_backend(TARGETS["nginx"].space(), backend)
    assert set(backend.free) <= {knob.name for knob in space.free}
    assert space.check(space.default()) == space.default()
    assert backend_of(space.default()) is backend
    assert backend_of(TARGETS["nginx"].space().default()) is None


@pytest.mark.parametrize("name", BACKENDS)
def test_file_says_every_setting_under_its_comment(name):
    """In its own language."""
    text = rendered(name)
    shown = [line.partition("about ")[2] for line in text.splitlines() if "about " in line]
    hidden = {"pm.start_servers"} if name == "never" else set()
    assert {knob.name for knob in BACKENDS[name].knobs} - set(shown) == hidden


@pytest.mark.parametrize("pm", ["static", "ondemand"])
def test_spare_servers_are_written_for_a_dynamic_pool_only(pm):
    """php-fpm would pass over them."""
    assert "spare" not in rendered("php", pm=pm)
    assert f"pm = {pm}\n" in rendered("php", pm=pm)


@pytest.mark.parametrize(
    ("children", "spare", "written"),
    [
        (20, (4, 2, 8), (4, 2, 8)),
        (2, (4, 2, 8), (2, 2, 2)),
        (1, (2, 1, 3), (1, 1, 1)),
        (20, (1, 5, 8), (5, 5, 8)),
    ],
)
def test_spare_servers_are_such_that_php_takes_them(children, spare, written):
    """Between none and all of the children, and the start between the least and the most."""
    names = ("pm.start_servers", "pm.min_spare_servers", "pm.max_spare_servers")
    text = rendered("php", **dict(zip(names, spare, strict=True)), **{"pm.max_children": children})
    for name, value in zip(names, written, strict=True):
        assert f"\n{name} = {value}\n" in text


def test_gunicorns_file_is_python():
    """Names and values as gunicorn calls them."""
    text = rendered("gunicorn", **{"gunicorn.workers": 3, "gunicorn.worker_class": "gthread"})
    said = {node.targets[0].id: ast.literal_eval(node.value) for node in ast.parse(text).body}
    assert (said["workers"], said["worker_class"], said["bind"]) == (3, "gthread", "127.0.0.1:9000")


def test_threads_go_only_with_the_class_that_has_them():
    """gunicorn would change the class by itself."""
    space = with_backend(TARGETS["nginx"].space(), BACKENDS["gunicorn"])
    threads = {**space.default(), "gunicorn.threads": 4}
    assert not space.allows(threads)
    assert space.allows({**threads, "gunicorn.worker_class": "gthread"})


def test_workloads_name_what_answers_them():
    """Every one that comes with Trimtab."""
    answered = {name: each.backend.name for name, each in WORKLOADS.items() if each.backend is not None}
    assert answered == {"support": "php", "php": "php", "python": "gunicorn"}
    assert [name for name, each in WORKLOADS.items() if each.proxies] == ["python", "proxy"]
