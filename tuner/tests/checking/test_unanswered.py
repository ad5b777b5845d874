"""Upstreams that nobody answers for: what that does depends on who gets their requests instead."""

from dataclasses import replace

import pytest
from trimtab_tuner.checking import check
from trimtab_tuner.checking.machine import UNRESOLVED, Descriptors, Machine
from trimtab_tuner.checking.statements import read
from trimtab_tuner.targets import TARGETS

MACHINE = Machine(cpus=4.0, online=(0,), allowed=(0,), descriptors=Descriptors(65_536, 524_288, "it"))
REST_REFUSED = {"127.0.0.1:1": "nobody listens there"}
OTHERS_GO_ON = ("warning", "nobody listens there, so requests go to the others.")
AN_ERROR = ("error", "nobody listens there, so requests that are handed on to it end in an error.")


def nginx(*servers):
    """An upstream of these servers."""
    said = "".join(f"server {server}; " for server in servers)
    return f"events {{}}\nhttp {{ upstream app {{ keepalive 9; {said}}} }}\n"


def apache(*members):
    """A balancer of these members."""
    return "".join(
        ("<Proxy balancer://b>\n", *(f"BalancerMember {each}\n" for each in members), "</Proxy>\n")
    )


def said(server, text, unanswered):
    """How bad it is, and the sentence behind the address, for each upstream that does not answer."""
    found = check(read(TARGETS[server], text), replace(MACHINE, unanswered=unanswered))
    own = [each for each in found if each.rule == "upstream-does-not-answer"]
    return [(each.severity, each.sentence.partition(": ")[2]) for each in own]


@pytest.mark.parametrize(
    ("server", "text"),
    [
        ("nginx", nginx("127.0.0.1:1 down", "127.0.0.1:2")),
        ("nginx", nginx("127.0.0.1:1 weight=2 down")),
        ("apache", apache('"http://127.0.0.1:1" status=+D', "http://127.0.0.1:2")),
        ("apache", apache("http://127.0.0.1:1 status=S")),
        ("apache", "ProxyPass /a http://127.0.0.1:1/ status=+I+D\n"),
    ],
)
def test_one_that_is_taken_out_on_purpose_is_not_missed(server, text):
    """Whether there are others or not."""
    assert said(server, text, REST_REFUSED) == []


@pytest.mark.parametrize(
    ("server", "text"),
    [
        ("nginx", nginx("127.0.0.1:2", "127.0.0.1:1 backup")),
        ("nginx", nginx("127.0.0.1:1", "127.0.0.1:2")),
        ("apache", apache("http://127.0.0.1:2", "http://127.0.0.1:1 status=+H")),
        ("apache", "BalancerMember balancer://b http://127.0.0.1:1\n" + apache("http://127.0.0.1:2")),
    ],
)
def test_one_of_several_is_a_warning(server, text):
    """Its requests are answered elsewhere."""
    assert said(server, text, REST_REFUSED) == [OTHERS_GO_ON]


@pytest.mark.parametrize(
    ("server", "text"),
    [
        ("nginx", nginx("127.0.0.1:1", "127.0.0.1:2 down")),
        ("nginx", nginx("127.0.0.1:1") + "stream { upstream app { server 127.0.0.1:2; } }\n"),
        ("apache", apache("http://127.0.0.1:1 status=+D status=-D", "http://127.0.0.1:2 status=+D")),
        (
            "apache",
            apache("http://127.0.0.1:1") + "<Proxy balancer://c>\nBalancerMember http://a:2\n</Proxy>\n",
        ),
    ],
)
def test_one_whose_requests_nobody_else_gets_is_an_error(server, text):
    """Those that are taken out get none, nor do those of another group."""
    assert said(server, text, REST_REFUSED) == [AN_ERROR]


def test_all_of_a_group_are_errors_when_none_answers():
    """There are no others that requests could go to."""
    both = {**REST_REFUSED, "127.0.0.1:2": "nobody listens there"}
    assert said("nginx", nginx("127.0.0.1:1", "127.0.0.1:2 backup"), both) == [AN_ERROR, AN_ERROR]


def test_what_is_to_be_done_is_about_what_is_wrong():
    """A name that is not known, or nobody at the address."""
    for why, suggestion in (
        (UNRESOLVED, "Make the name known here, or correct it."),
        ("nobody listens there", "Start what is to answer there, or correct the address."),
    ):
        text = nginx("app:80")
        (found,) = check(read(TARGETS["nginx"], text), replace(MACHINE, unanswered={"app:80": why}))
        assert found.suggestion == suggestion


@pytest.mark.parametrize(
    ("servers", "port"),
    [(("unix:/run/a.sock",), False), (("unix:/run/a.sock", "127.0.0.1:2"), True), (("app:80",), True)],
)
def test_upstream_that_keeps_nothing_leaves_ports_only_where_it_has_some(servers, port):
    """A socket of this machine has none."""
    said = "".join(f"server {server}; " for server in servers)
    site = "server { location / { proxy_pass http://app; } }"
    text = f"events {{}}\nhttp {{ upstream app {{ {said}}} {site} }}\n"
    (found,) = check(read(TARGETS["nginx"], text), MACHINE)
    assert found.rule == "upstream-without-keepalive"
    assert ("TIME_WAIT" in found.sentence) is port


UNKNOWN = {"app:80": UNRESOLVED}


def test_name_that_is_not_known_keeps_nginx_from_starting_in_any_case():
    """It looks up the names of servers that are down, or have others beside them, too."""
    (down,) = said("nginx", nginx("app:80 down", "127.0.0.1:2"), UNKNOWN)
    assert down == ("error", f"{UNRESOLVED}, so nginx does not start unless `resolve` stands beside it.")


def test_name_that_is_not_known_is_told_without_a_remedy_that_its_place_does_not_allow():
    """`resolve` is a parameter of servers in an upstream."""
    text = "events {}\nhttp { server { location / { proxy_pass http://app; } } }\n"
    assert said("nginx", text, UNKNOWN) == [("error", f"{UNRESOLVED}, so nginx does not start.")]


@pytest.mark.parametrize(
    ("servers", "told"),
    [
        (("app:80 resolve", "127.0.0.1:2"), [("warning", f"{UNRESOLVED}, so requests go to the others.")]),
        (("app:80 resolve down", "127.0.0.1:2"), []),
    ],
)
def test_name_that_is_looked_up_later_keeps_nothing_from_starting(servers, told):
    """Its requests are those of any server that does not answer."""
    assert said("nginx", nginx(*servers), UNKNOWN) == told
