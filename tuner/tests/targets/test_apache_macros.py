"""Macros of an apache2.conf, and lines under conditions that only Apache decides."""

import pytest
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderContext
from trimtab_tuner.targets.editing import own_values
from trimtab_tuner.targets.private import named_in

APACHE = TARGETS["apache"]
CONTEXT = RenderContext(
    root="/srv/own",
    listen=("127.0.0.1:18998",),
    status_listen="127.0.0.1:18999",
    server_cpus=(0,),
    prefix="/run/x",
)
HEAD = "LoadModule mpm_event_module modules/mod_mpm_event.so\nListen 8192\n"
MACRO = """\
<Macro VHost $host $port>
  <VirtualHost *:$port>
    ServerName $host
    KeepAliveTimeout 7
  </VirtualHost>
</Macro>
"""
SITE = "<VirtualHost *:8192>\nServerName own\nTimeout 9\n{}</VirtualHost>\n"


def private(text):
    """The file as it is measured."""
    return APACHE.private(text, own_values(APACHE, text, 2), (), CONTEXT)


def put_in(text, known=None):
    """What stands for each use of a macro."""
    return [each.text for each in APACHE.includes(text, known or {}) if each.text is not None]


@pytest.mark.parametrize(
    ("macro", "use", "lines"),
    [
        ("M $x", "Use M a", "$x a"),
        ("M $x $xy", "Use M a b", "$x a, $xy b"),
        ("M ${x}", "use m a", "${x} a"),
        ("M %x @x", "USE M 'a b' c", '%x a b, @x "c"'),
        ("M @x", r"Use M a\"b\c", r'@x "a\\\"b\\c"'),
        ("M x", r'Use M "a\"b\\c"', r'x a"b\c'),
        ("M $x", "Use M \\\n   a", "$x a"),
        ('"M" $x', "Use M $x", "$x $x"),
        ("M", "Use M", ""),
    ],
)
def test_macro_is_put_in_with_its_arguments_as_text(macro, use, lines):
    """Names of parameters of any kind, quotes of either, lines that go on."""
    expected = [each.partition(" ") for each in lines.split(", ") if each]
    body = "".join(f"A [{name}]\n" for name, _, _ in expected)
    (found,) = put_in(f"{HEAD}<Macro {macro}>\n{body}</Macro>\n{use}\n")
    assert found == "\n".join(f"A [{value}]" for _, _, value in expected)


@pytest.mark.parametrize("use", ["Use Other a", "Use M", "Use M a b", "Use"])
def test_use_that_apache_refuses_stays_as_it_is(use):
    """Apache says why, in its own words."""
    assert put_in(f"{HEAD}<Macro M $x>\n</Macro>\n{use}\n") == []


def test_macro_is_known_from_its_definition_to_its_end():
    """As Apache reads it: from above to below, and in an include behind it."""
    text = "Use M\n<Macro M>\nA\n</Macro>\nUse M\nUndefMacro M\nUse M\n"
    assert put_in(text) == ["A"]
    known = APACHE.defined(
        "Define X m\n<IfModule a>\n<Macro M>\nA\n</Macro>\n<Macro M>\nB\n</Macro>\n</IfModule>", {}
    )
    assert put_in("Use ${X}\n", known) == ["A"]


def test_macro_says_nothing_before_it_is_used():
    """Nor is an include in it followed; $port is no port, and no site in it is one."""
    inside = "  Include $host.conf\n  SSLSessionTickets $port\n"
    text = HEAD + MACRO.replace("</Macro>", f"{inside}</Macro>") + SITE.format("")
    assert APACHE.includes(text) == []
    assert APACHE.parse_tls(text) == {}
    measured = private(text)
    assert "with the settings of the site own" in measured
    assert "$port" not in "".join(named_in(measured))
    assert "<VirtualHost *:$port>" in measured
    assert "    Timeout 9\n" in measured.partition("<VirtualHost 127.0.0.1:18998>")[2]


@pytest.mark.parametrize(
    "section",
    [
        "IfModule mod_headers.c", "IfVersion >= 2.4", "IfDefine X", "IfFile /srv/on", "IfDirective Proxy",
        "IfSection Proxy",
    ],
)  # fmt: skip
def test_setting_under_a_condition_stands_under_it_in_the_site_that_is_added(section):
    """Apache decides: without the module it would not know the directive."""
    name = section.partition(" ")[0]
    measured = private(HEAD + SITE.format(f"<{section}>\nHeader set X on\n</{name}>\n"))
    own = measured.partition("<VirtualHost 127.0.0.1:18998>")[2]
    assert f"    <{section}>\n    Header set X on\n    </{name}>\n" in own
    assert measured.partition("# Nothing else differs.")[2].count("Header set X on") == 2


def test_what_stands_under_no_condition_behind_one_stands_under_none():
    """Each under its own, in the order of the file."""
    inside = (
        "<IfModule a>\n<IfModule b>\nHeader set A b\n</IfModule>\nHeader set A a\n</IfModule>\n"
        "Header set A c\n"
    )
    own = private(HEAD + SITE.format(inside)).partition("<VirtualHost 127.0.0.1:18998>")[2]
    said = " ".join(own.split())
    assert (
        "<IfModule a> <IfModule b> Header set A b </IfModule> </IfModule> "
        "<IfModule a> Header set A a </IfModule> Header set A c" in said
    )
