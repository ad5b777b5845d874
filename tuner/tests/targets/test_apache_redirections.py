"""Virtual hosts of Apache that only send clients elsewhere are no model of how the workload is answered."""

import pytest
from trimtab_tuner.targets.servers.apache import levels, syntax

SITES = """\
<VirtualHost *:80>
  ServerName one.example
  DocumentRoot /srv/one
  RewriteEngine On
  {}
</VirtualHost>
<VirtualHost *:443>
  ServerName one.example
  DocumentRoot /srv/one
  SSLEngine on
  {}
</VirtualHost>
"""
CERTBOT = "RewriteCond %{SERVER_NAME} =one.example [OR]\nRewriteCond %{SERVER_NAME} =www.one.example\n"
TO_TLS = "https://%{SERVER_NAME}%{REQUEST_URI} [END,NE,R=permanent]"


def answering(plain, secure=""):
    """The numbers of the sites that answer."""
    return levels.answering(list(syntax.walk(SITES.format(plain, secure))))


@pytest.mark.parametrize(
    "rule",
    [
        "RewriteRule ^(.*)$ https://one.example$1 [R=301,L]",
        f"{CERTBOT}RewriteRule ^ {TO_TLS}",
        f"RewriteCond %{{HTTPS}} off\nRewriteRule .* {TO_TLS}",
        f"RewriteCond %{{HTTPS}} off\nRewriteCond %{{REQUEST_URI}} !^/\\.well-known/\nRewriteRule ^ {TO_TLS}",
        f"RewriteCond %{{HTTPS}} !=on\nRewriteRule ^/?(.*) {TO_TLS}",
        'RewriteRule "^/(.*)$" "https://one.example/$1" [redirect]',
        "Redirect permanent / https://one.example/",
        "RedirectMatch 301 ^(.*)$ https://one.example$1",
    ],
)
def test_site_whose_rule_leads_every_path_to_another_is_none(rule):
    """As one with Redirect, also where it has a document root."""
    assert answering(rule) == [2]


@pytest.mark.parametrize(
    "rule",
    [
        "RewriteCond %{HTTP_HOST} ^www\\.\nRewriteRule ^(.*)$ https://one.example$1 [R=301,L]",
        "RewriteRule ^/old(.*)$ /new$1 [R=301,L]",
        "RewriteRule ^(.*)$ /index.php [L]",
        "RewriteRule ^ - [F]",
        "RewriteRule ^/$ /app/ [R]",
        "RedirectMatch ^/$ /app/",
        "Redirect /old /new",
        f"<Directory /srv>\nRewriteRule ^ {TO_TLS}\n</Directory>",
    ],
)
def test_site_that_leads_some_elsewhere_still_answers(rule):
    """Some paths, or some names."""
    assert answering(rule) == [1, 2]


def test_site_that_hands_on_and_leads_some_elsewhere_still_answers():
    """It needs no document root."""
    site = "<VirtualHost *:80>\n{}\nRedirect /old /new\n</VirtualHost>\n"
    for inside, numbers in (("ProxyPass / http://a/", [1]), ("ServerAdmin b", [])):
        assert levels.answering(list(syntax.walk(site.format(inside)))) == numbers


def test_rule_that_leads_to_tls_says_nothing_where_tls_is_spoken():
    """It is there for both, out of a snippet."""
    rule = f"RewriteCond %{{HTTPS}} off\nRewriteRule ^ {TO_TLS}"
    assert answering(rule, rule) == [2]
