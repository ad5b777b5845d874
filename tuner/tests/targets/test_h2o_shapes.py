"""What people's h2o.conf have beside a plain site: values said once for several places, sockets, OCSP."""

import pytest
from ruamel.yaml import YAML
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderError
from trimtab_tuner.targets.editing import own_values
from trimtab_tuner.targets.private import named_in

from .instance import instance_in

H2O = TARGETS["h2o"]
CONTEXT = instance_in("/run/x")
SITE = "hosts:\n  a:\n    {}\n    paths: {{/: {{file.dir: /srv}}}}\n"


def measured(text):
    """What is named of the file that is measured, and the file without that."""
    private = H2O.private(text, own_values(H2O, text, 1), (), CONTEXT)
    return named_in(private), private.partition("# Nothing else differs.\n")[2]


def listens(private):
    """The addresses of the site a."""
    said = YAML(typ="safe", pure=True).load(private)["hosts"]["a"]["listen"]
    return {key: said[key] for key in ("host", "port", "type") if key in said}


def test_value_that_others_have_too_is_changed_in_its_own_place():
    """Where it is only named, the name gives way; the value that it stands for stays."""
    text = f"num-threads: &n 4\nmax-connections: *n # as many\n{SITE.format('listen: 80')}"
    own = own_values(H2O, text, 1)
    assert (own["num-threads"], own["max-connections"]) == (4, 4)
    changed = H2O.changed(text, {**own, "max-connections": 99}, ["max-connections"], CONTEXT)
    assert changed == text.replace("*n #", "99 #")
    with pytest.raises(RenderError, match=r"line 1: num-threads is &n, and other commands have the same"):
        H2O.changed(text, {**own, "num-threads": 8}, ["num-threads"], CONTEXT)
    alone = text.replace("*n", "5")
    tuned = {**own_values(H2O, alone, 1), "num-threads": 8}
    assert H2O.changed(alone, tuned, ["num-threads"], CONTEXT) == alone.replace("&n 4", "&n 8")


def test_addresses_that_are_said_once_are_the_instances_everywhere():
    """A name stays one, for a port as for all of an address; what is taken over from another has its own."""
    own_ssl = "ssl: {certificate-file: /c, key-file: /k}"
    text = (
        f"listen: &all\n  port: 443\n  {own_ssl}\nlisten: &plain 80\n"
        "hosts:\n  a:\n    listen:\n      <<: *all\n    paths: {/: {file.dir: /srv}}\n"
        "  b:\n    listen: *plain\n    paths: {/: {file.dir: /srv}}\n"
        "  c:\n    listen: {<<: *all, host: 10.0.0.1}\n    paths: {/: {file.dir: /srv}}\n"
    )
    named, private = measured(text)
    said = YAML(typ="safe", pure=True)
    said.allow_duplicate_keys = True
    hosts = said.load(private)["hosts"]
    place = {"host": "127.77.0.1", "port": 18999}
    assert place.items() <= hosts["a"]["listen"].items()
    assert hosts["b"]["listen"] == {"host": "127.77.0.2", "port": 18999}
    assert hosts["c"]["listen"]["host"] == "127.77.0.3"
    assert "listen: &plain {host: 127.77.0.2, port: 18999}" in private
    assert "listen 10.0.0.1:443 at 127.77.0.3:18999" in named


@pytest.mark.parametrize(
    "listen",
    [
        "listen: {port: /run/h.sock, type: unix, permission: 600}",
        "listen:\n      type: unix\n      port: /run/h.sock",
    ],
)
def test_socket_of_a_path_becomes_an_address(listen):
    """Production has the path."""
    named, private = measured(SITE.format(listen))
    assert listens(private) == {"host": "127.77.0.1", "port": 18999, "type": "tcp"}
    assert "listen unix:/run/h.sock at 127.77.0.1:18999" in named


def test_port_that_is_said_twice_is_replaced_twice():
    """Whichever of them counts."""
    _, private = measured(SITE.format("listen: {port: 443, host: 10.0.0.1, port: 80}"))
    assert "443" not in private
    assert "port: 80" not in private


def test_type_of_an_address_that_is_not_known_is_refused():
    """With its line."""
    with pytest.raises(RenderError, match=r"line 3: listen: expected a port, and a type of tcp, quic, unix"):
        measured(SITE.format("listen: {port: 1, type: pigeon}"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{certificate-file: /c}", "{ocsp-update-interval: 0, certificate-file: /c}"),
        ("{ocsp-update-interval: 600, key-file: /k}", "{ocsp-update-interval: 0, key-file: /k}"),
        ("{ocsp-update-interval: 0, key-file: /k}", "{ocsp-update-interval: 0, key-file: /k}"),
        (
            "\n        certificate-file: /c\n        key-file: /k",
            "\n        ocsp-update-interval: 0\n        certificate-file: /c\n        key-file: /k",
        ),
    ],
)
def test_those_who_made_the_certificates_are_not_asked_about_them(before, after):
    """h2o would do so without being told."""
    named, private = measured(SITE.format(f"listen:\n      port: 443\n      ssl: {before}"))
    assert f"ssl: {after}\n" in private
    assert any("ocsp-update-interval" in each for each in named) == (before != after)
