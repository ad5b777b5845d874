"""Sites of an apache2.conf that stand in macros, and lines under conditions that only Apache decides."""

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


@pytest.mark.parametrize(
    ("used", "line"),
    [
        ("Use VHost macro.test 8192\n", 9),
        ("use vhost macro.test 8192\n", 9),
        ("<Macro Both $host>\n  Use VHost $host 1\n</Macro>\nUse Both a\n", 12),
    ],
)
def test_file_that_has_sites_by_a_macro_is_refused_at_the_line_that_uses_it(used, line):
    """Through another macro too."""
    refused = [each for each in APACHE.told(HEAD + MACRO + used) if each.kind == "refused"]
    assert [each.line for each in refused] == [line]
    assert "the virtual host of this macro is not read" in refused[0].text


@pytest.mark.parametrize("used", ["", "<Macro Plain>\nTimeout 7\n</Macro>\nUse Plain\n"])
def test_macro_that_brings_no_site_is_nobody_s_site(used):
    """The workload is answered as by the first site that there is, and $port is no port."""
    text = HEAD + MACRO + used + SITE.format("")
    assert not [each for each in APACHE.told(text) if each.kind == "refused"]
    measured = private(text)
    assert "with the settings of the site own" in measured
    assert "$port" not in "".join(named_in(measured))
    assert "<VirtualHost *:$port>" in measured
    assert "    Timeout 9\n" in measured.partition("<VirtualHost 127.0.0.1:18998>")[2]


@pytest.mark.parametrize("section", ["IfFile /srv/on", "IfDirective Proxy", "IfSection Proxy"])
def test_setting_under_a_condition_that_only_apache_decides_is_named(section):
    """The site that is added does without, and that is said."""
    name = section.partition(" ")[0]
    measured = private(HEAD + SITE.format(f"<{section}>\nHeader set X on\n</{name}>\n"))
    assert f"Header set X on under <{name}> does not hold for the site that is added" in named_in(measured)
    assert measured.partition("# Nothing else differs.")[2].count("Header set X on") == 1
