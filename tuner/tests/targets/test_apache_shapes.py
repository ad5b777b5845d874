"""What people's apache2.conf have beside plain virtual hosts: kept, or left out with a sentence."""

import pytest
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderError
from trimtab_tuner.targets.editing import own_proxying, own_values
from trimtab_tuner.targets.private import named_in

from .instance import instance_in

APACHE = TARGETS["apache"]
CONTEXT = instance_in("/run/x", upstream="127.0.0.1:9")
HEAD = "LoadModule mpm_event_module modules/mod_mpm_event.so\nListen 80\n"


def measured(text):
    """What is named of the file that is measured, and the file without that."""
    own = {**own_values(APACHE, text, 1), **own_proxying(APACHE, text)}
    private = APACHE.private(text, own, (), CONTEXT)
    return named_in(private), private.partition("# Nothing else differs.\n")[2]


def test_addresses_and_values_that_are_variables_are_what_those_say():
    """A virtual host of a port is at the address that listens there."""
    text = (
        "Define WEB 8080\nDefine MOST 50\nLoadModule mpm_event_module m.so\nListen ${WEB}\n"
        "MaxRequestWorkers ${MOST}\n<VirtualHost *:${WEB}>\nServerName a\n</VirtualHost>\n"
    )
    assert APACHE.parse(text)["MaxRequestWorkers"] == 50
    named, private = measured(text)
    assert "Listen ${WEB} at 127.77.0.1:18999" in named
    assert "<VirtualHost *:${WEB}> at 127.77.0.1:18999" in named
    assert "Listen 127.77.0.1:18999\n" in private
    tuned = {**own_values(APACHE, text, 1), "MaxRequestWorkers": 100}
    changed = APACHE.changed(text, tuned, ["MaxRequestWorkers"], CONTEXT)
    assert changed.startswith(text.replace("MaxRequestWorkers ${MOST}", "MaxRequestWorkers 100"))


def test_upstreams_of_production_are_not_asked_whether_they_are_well():
    """Nor is ours: the measured site has only what else the member of the balancer says."""
    text = (
        f"{HEAD}<Proxy balancer://app>\n"
        "  BalancerMember http://10.0.0.1 hcmethod=GET hcuri=/up hcinterval=5 route=a retry=7 status=+D\n"
        "</Proxy>\n<VirtualHost *:80>\nProxyPass / balancer://app/\n</VirtualHost>\n"
    )
    named, private = measured(text)
    assert "hcmethod" not in private
    assert "hcuri" not in private
    assert "BalancerMember http://10.0.0.1 route=a retry=7 status=+D\n" in private
    asked = "hcmethod=GET hcuri=/up hcinterval=5 of BalancerMember http://10.0.0.1 is left out: it would have"
    assert sum(asked in each for each in named) == 1
    (own,) = [line for line in private.splitlines() if "127.0.0.1:9" in line]
    assert own.endswith(" retry=7")


def test_what_only_production_s_network_has_is_left_out():
    """Addresses of its own, and a header that its balancer sends."""
    text = (
        f"{HEAD}RemoteIPProxyProtocol On\nProxySourceAddress 10.0.0.5\n<VirtualHost *:80>\n"
        "ProxyPass / http://a/\nProxySourceAddress 10.0.0.6\nProxyPreserveHost On\n"
        "RemoteIPProxyProtocol On\n</VirtualHost>\n"
    )
    named, private = measured(text)
    assert "ProxySourceAddress" not in private
    assert private.count("RemoteIPProxyProtocol On") == 1  # of that site alone
    assert private.count("ProxyPreserveHost On") == 2
    assert "RemoteIPProxyProtocol On is left out: the load comes without that header" in named
    assert sum("is left out: nothing is asked from an address of production" in each for each in named) == 2


def test_content_of_answers_is_not_written_anew_for_the_workload():
    """Its lengths are checked; which requests go on is its own, too."""
    text = (
        f"{HEAD}<VirtualHost *:80>\nProxyPass / http://a/\nProxyHTMLEnable On\nProxyExpressEnable on\n"
        "ProxyTimeout 7\n</VirtualHost>\n"
    )
    _, private = measured(text)
    assert private.count("ProxyHTMLEnable On") == private.count("ProxyExpressEnable on") == 1
    assert private.count("ProxyTimeout 7") == 2


def test_certificates_are_asked_of_nobody():
    """Neither by a directive nor by a section."""
    sets = "<MDomainSet b>\n  MDRenewMode always\n</MDomainSet>\n"
    named, private = measured(f"{HEAD}MDomain a\n{sets}ManagedDomain c\n")
    assert [line for line in private.splitlines() if "MD" in line or "Managed" in line] == [
        '    MDStoreDir "/run/x/md"'
    ]
    assert "<MDomainSet b> is left out: it would have others asked" in named


MANAGED = f"""\
{HEAD}Listen 443
LoadModule md_module modules/mod_md.so
MDomain a.example www.a.example
<VirtualHost *:443>
    ServerName a.example
    <IfModule mod_ssl.c>
        SSLEngine on
    </IfModule>
</VirtualHost>
<VirtualHost *:443>
    ServerName b.example
    SSLEngine on
    SSLCertificateFile /b.pem
</VirtualHost>
<VirtualHost *:80>
    ServerName c.example
</VirtualHost>
"""


def test_site_whose_certificate_mod_md_looks_after_has_a_made_one():
    """Under the condition that it speaks TLS under; one with a certificate in the file keeps that."""
    named, private = measured(MANAGED)
    assert private.count("SSLCertificateFile") == 2
    assert 'SSLEngine on\n    SSLCertificateFile "/run/x/made.pem"\n    </IfModule>' in private
    (said,) = [each for each in named if "certificate" in each]
    assert said.startswith("the site a.example has a made certificate")
    assert "/run/x/made.pem" in [each.value for each in APACHE.reads(private)]
    for text in (MANAGED.replace("MDomain", "# MDomain"), f"SSLCertificateFile /all.pem\n{MANAGED}"):
        assert "made certificate" not in "".join(measured(text)[0])


def test_site_whose_certificate_mod_md_looks_after_has_that_of_the_run_where_tls_is_measured():
    """The key too."""
    own = {**own_values(APACHE, MANAGED, 1), "tls_key": "ecdsa"}
    private = APACHE.private(MANAGED, own, (), instance_in("/run/x", tls_directory="/run/tls"))
    assert "made.pem" not in private
    assert private.count('SSLCertificateFile "/run/tls/ecdsa.pem"') == 3  # and of the workload's site
    assert private.count('SSLCertificateKeyFile "/run/tls/ecdsa.key"') == 2


def test_number_that_is_not_whole_is_measured_and_stays_as_it_is():
    """Apache takes it as it stands."""
    text = f"{HEAD}AsyncRequestWorkerFactor 1.5\n"
    own = own_values(APACHE, text, 1)
    assert own["AsyncRequestWorkerFactor"] == "1.5"
    assert APACHE.space().with_defaults(own).default() == own
    assert APACHE.demands(own).connections == 62  # of 25 threads
    assert "AsyncRequestWorkerFactor 1.5\n" in measured(text)[1]
    tuned = {**own, "ServerLimit": 9}
    assert APACHE.changed(text, tuned, ["ServerLimit"], CONTEXT).startswith(text)
    tuned = {**own, "AsyncRequestWorkerFactor": 4}
    changed = APACHE.changed(text, tuned, ["AsyncRequestWorkerFactor"], CONTEXT)
    assert changed == text.replace("1.5", "4")
    assert APACHE.parse(f"{HEAD}AsyncRequestWorkerFactor 2.0\n")["AsyncRequestWorkerFactor"] == 2


def test_a_balancer_of_production_is_not_told_that_the_instance_is_alive():
    """It would send requests to it."""
    named, private = measured(f"{HEAD}HeartbeatAddress 239.0.0.1:27999\n")
    assert "Heartbeat" not in private
    assert "HeartbeatAddress 239.0.0.1:27999 is left out: it would have others asked" in named


def test_files_of_modules_are_the_instances_own():
    """Two servers would write the same."""
    _, private = measured(f"{HEAD}JkShmFile /var/jk.shm\nSecAuditLogStorageDir /var/audit\nSecTmpDir /tmp\n")
    assert "/var" not in private
    assert 'SecTmpDir "/run/x"' in private


def test_lua_and_limits_on_clients_are_told():
    """The measured server has both too."""
    site = "<VirtualHost *:80>\nDOSPageCount 9\n</VirtualHost>\n"
    text = f"{HEAD}DOSPageCount 5\nLuaHookAuthChecker /a.lua b\n{site}"
    told = {each.line: each.text for each in APACHE.told(text) if each.kind == "runs"}
    assert told[3].startswith("DOSPageCount 5: it limits the workload too")
    assert told[4] == "LuaHookAuthChecker /a.lua b: the measured server runs this Lua too"
    assert max(told) == 4


def test_certificates_are_found_where_variables_say():
    """As the distribution of Apache for other systems has them."""
    text = (
        'Define SRVROOT "/usr/local/apache2"\nServerRoot "${SRVROOT}"\n'
        'SSLCertificateFile "${SRVROOT}/conf/a.crt"\n'
        "SSLCertificateKeyFile conf/a.key\nSSLCACertificateFile ${UNKNOWN}/b\n"
    )
    assert [each.value for each in APACHE.reads(text)] == [
        "/usr/local/apache2/conf/a.crt",
        "/usr/local/apache2/conf/a.key",
    ]


BALANCED = f"""\
{HEAD}<Proxy balancer://app>
  BalancerMember http://10.0.0.1:8080 retry=7 route=a
  BalancerMember http://10.0.0.2:8080
</Proxy>
<VirtualHost *:80>
  ServerName first
  ProxyTimeout 5
  ProxyPass / http://10.0.0.9/ retry=1
</VirtualHost>
<VirtualHost *:80>
  ServerName second
  ProxyTimeout 6
  ProxyPass / balancer://app/
</VirtualHost>
"""


@pytest.mark.parametrize(
    ("name", "site", "timeout", "parameter"),
    [("app", "second", 6, "retry=7"), ("10.0.0.9:80", "first", 5, "retry=1")],
)
def test_workload_goes_on_as_the_upstream_whose_place_is_taken(name, site, timeout, parameter):
    """With its parameters, and as its site does it; no other is as good."""
    own = {**own_values(APACHE, BALANCED, 1), **own_proxying(APACHE, BALANCED)}
    context = instance_in("/run/x", upstream="127.0.0.1:9", stand_ins={name: "127.0.0.1:9"})
    private = APACHE.private(BALANCED, own, (), context)
    assert f"with the settings of the site {site}\n" in private
    added = private.partition("<VirtualHost 127.0.0.1:18999>")[2]
    assert f"ProxyTimeout {timeout}\n" in added
    assert f" {parameter}\n" in added
    with pytest.raises(RenderError, match=r"upstream b: no requests go on to it; expected one of app, 10\."):
        APACHE.private(BALANCED, own, (), instance_in("/run/x", upstream="a:9", stand_ins={"b": "a:9"}))


@pytest.mark.parametrize("where", ["{}", "<VirtualHost *:80>\nDocumentRoot /a\n{}</VirtualHost>\n"])
def test_time_below_a_second_is_measured_as_it_stands(where):
    """The knob counts whole ones."""
    text = HEAD + where.format("KeepAliveTimeout 500ms\n")
    own = own_values(APACHE, text, 1)
    assert own["KeepAliveTimeout"] == 1
    private = APACHE.private(text, {**own, **own_proxying(APACHE, text)}, ["KeepAliveTimeout"], CONTEXT)
    assert "KeepAliveTimeout 500ms" in private
    tuned = {**own, "KeepAliveTimeout": 2}
    assert APACHE.changed(text, tuned, ["KeepAliveTimeout"], CONTEXT) == text.replace("500ms", "2")
