"""A private instance logs as production does: no less, and no more than it would there."""

import pytest
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderContext
from trimtab_tuner.targets.editing import own_values
from trimtab_tuner.targets.servers.h2o import syntax

CONTEXT = RenderContext(
    root="/srv/own",
    listen=("127.0.0.1:18999",),
    status_listen="127.0.0.1:18998",
    server_cpus=(0,),
    prefix="/run/x",
)
H2O = """\
{}hosts:
  a:
    listen: 80
    {}paths: {{/: {{file.dir: /srv}}}}
  b:
    listen: 81
    {}paths: {{/: {{file.dir: /srv}}}}
"""
LOGGED = "access-log: /var/log/b.log\n    "


def private(name, text):
    """What is named in the comment, and the file that is measured."""
    target = TARGETS[name]
    comment, _, said = target.private(text, own_values(target, text, 2), (), CONTEXT).partition(
        "# Nothing else differs.\n"
    )
    return comment, said


def logs_of_h2o(text):
    """The paths by the names of hosts; of the server as a whole by ""."""
    logs = [command for command in syntax.commands(text) if command.name == "access-log"]
    return {
        "".join(command.above[1:2]): {key.value: each.value for key, each in command.value.value}
        if isinstance(command.value.value, list)
        else {"path": command.value.value}
        for command in logs
    }


@pytest.mark.parametrize(
    "off", ["access-log: /dev/null", "access-log:\n      path: '/dev/null'\n      format: '%h'"]
)
def test_log_of_h2o_that_is_switched_off_stays_so_and_others_are_written(off):
    """It costs no disk in production, and must cost none in what is measured."""
    comment, said = private("h2o", H2O.format("", f"{off}\n    ", LOGGED))
    assert "/dev/null" not in comment
    assert off in said
    found = {name: log["path"] for name, log in logs_of_h2o(said).items()}
    own = "/run/x/access-1.log"
    assert found == {"a": "/dev/null", "b": own, "workload-0": own}


def test_log_of_h2o_as_a_whole_that_is_switched_off_stays_so():
    """And the workload has no other."""
    _, said = private("h2o", H2O.format("access-log: /dev/null\n", "", ""))
    assert logs_of_h2o(said) == {"": {"path": "/dev/null"}}


def test_workload_is_logged_as_the_first_host_of_h2o_that_is():
    """In its format, into the file that has the others' place; as a whole it may be logged already."""
    log = "access-log: {path: \"|rotatelogs '/var/log/a'\", format: '%{x}i \"%r\"'}\n    "
    _, said = private("h2o", H2O.format("", log, ""))
    found = logs_of_h2o(said)
    assert found["workload-0"] == {"path": "/run/x/access-1.log", "format": '%{x}i "%r"'} == found["a"]
    assert "workload-status" not in found
    _, said = private("h2o", H2O.format("access-log: /var/log/all.log\n", "", LOGGED))
    assert {*logs_of_h2o(said)} == {"", "b"}


def test_log_of_core_that_is_switched_off_stays_so():
    """Another goes into the trial's own folder."""
    text = "[server]\nroot = /srv\nlisten = 127.0.0.1:8081\naccess_log = {}\n"
    comment, said = private("core", text.format("/dev/null"))
    assert "access_log = /dev/null\n" in said
    assert "access_log" not in comment
    comment, said = private("core", text.format("/var/log/own.log"))
    assert "access_log = /run/x/access-1.log\n" in said
    assert "access_log = /var/log/own.log to /run/x/access-1.log" in comment
