"""`trimtab targets`: what can be tuned here."""

import json


def test_targets_are_listed_with_their_programs(trimtab):
    """Each says where it is, or what installs it."""
    code, output = trimtab("targets", "--json").finish()
    listed = {target["name"]: target for target in json.loads(output)}
    assert (code, set(listed)) == (0, {"core", "nginx", "lighttpd", "apache", "h2o", "mariadb"})
    for target in listed.values():
        assert target["program"].startswith("/") or "apt-get install" in target["program"]


def test_knobs_of_a_target_are_shown(trimtab):
    """With the expert's advice beside the default."""
    code, output = trimtab("targets", "lighttpd").finish()
    assert (code, "server.network-backend" in output) == (0, True)
    code, output = trimtab("targets", "h2o", "--json").finish()
    assert json.loads(output)["expert"]["max-connections"] == 10_000


def test_unknown_target_is_bad_input(trimtab):
    """The sentence lists those that exist."""
    code, output = trimtab("targets", "iis").finish()
    assert (code, "expected one of core, apache" in output) == (2, True)
