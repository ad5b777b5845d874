"""What a user's file hands requests on to: each address with where its host stands, and no other."""

import pytest
from trimtab_tuner.targets import TARGETS

FILES = {
    "nginx": (
        """\
events {}
http {
    upstream app { server app:3000 weight=2; server unix:/run/app.sock; server [::1]; }
    upstream "two" { server 'other.example' backup; }
    map $host $backend { default http://mapped:1; }
    server {
        location /a { proxy_pass http://app/x; }
        location /b { proxy_pass https://api.example; }
        location /c { proxy_pass http://$backend:80; }
        location /d { fastcgi_pass php:9000; }
        location /e { fastcgi_pass unix:/run/php.sock; }
        location /f { proxy_pass "http://unix:/run/web.sock:/uri/"; }
        location /g { grpc_pass grpc://rpc:50051; }
        location /h { proxy_pass http://two; }
    }
}
stream { server { listen 5; proxy_pass db.example:5432; } }
""",
        [
            ("upstream app", "app:3000"),
            ("upstream app", "unix:/run/app.sock"),
            ("upstream app", "[::1]:80"),
            ("upstream two", "other.example:80"),
            ("proxy_pass", "api.example:443"),
            ("fastcgi_pass", "php:9000"),
            ("fastcgi_pass", "unix:/run/php.sock"),
            ("proxy_pass", "unix:/run/web.sock"),
            ("grpc_pass", "rpc:50051"),
            ("proxy_pass", "db.example:5432"),
        ],
    ),
    "apache": (
        """\
Listen 80
<Proxy "balancer://two">
    BalancerMember http://a:8080 route=1
    BalancerMember "https://b/"
</Proxy>
<VirtualHost *:80>
    ProxyPass /no !
    ProxyPass /x balancer://two/
    ProxyPass "/y" "ajp://tomcat/y" timeout=5
    ProxyPassMatch ^/(.*\\.php)$ fcgi://127.0.0.1:9000/srv/$1
    ProxyPassReverse /y http://elsewhere:81/
    <FilesMatch "\\.php$">
        SetHandler "proxy:unix:/run/php.sock|fcgi://localhost"
    </FilesMatch>
</VirtualHost>
""",
        [
            ("BalancerMember", "a:8080"),
            ("BalancerMember", "b:443"),
            ("ProxyPass", "tomcat:8009"),
            ("ProxyPassMatch", "127.0.0.1:9000"),
            ("SetHandler", "unix:/run/php.sock"),
        ],
    ),
    "lighttpd": (
        """\
server.port = 80
$HTTP["host"] == "a" {
    proxy.server = ( "" => ( ( "host" => "app", "port" => 8080 ), ( "host" => "10.0.0.2" ) ) )
}
fastcgi.server += ( ".php" => (( "socket" => "/run/php.sock" )), ".x" => (( "bin-path" => "/bin/x",
    "socket" => "/run/x.sock" )) )
""",
        [
            ("proxy.server", "app:8080"),
            ("proxy.server", "10.0.0.2:80"),
            ("fastcgi.server", "unix:/run/php.sock"),
        ],
    ),
    "h2o": (
        """\
hosts:
  a:
    listen: 80
    paths:
      /a: {proxy.reverse.url: "http://app:8080/x"}
      /b:
        proxy.reverse.url: http://[unix:/run/b.sock]/
      /c:
        fastcgi.connect: {port: /run/php.sock, type: unix}
      /d:
        fastcgi.connect: {host: php, port: 9000}
      /e:
        proxy.reverse.url:
          - http://one/
          - https://two/
""",
        [
            ("proxy.reverse.url", "app:8080"),
            ("proxy.reverse.url", "unix:/run/b.sock"),
            ("fastcgi.connect", "unix:/run/php.sock"),
            ("fastcgi.connect", "php:9000"),
            ("proxy.reverse.url", "one:80"),
            ("proxy.reverse.url", "two:443"),
        ],
    ),
    "core": ("[server]\nroot = /srv\n", []),
    "mariadb": ("[mysqld]\nport = 1\n", []),
}


@pytest.mark.parametrize("name", FILES)
def test_every_address_is_read_where_it_stands(name):
    """With the port that it has without being told; names of upstreams and variables are no addresses."""
    text, expected = FILES[name]
    found = TARGETS[name].upstreams(text)
    assert [(each.setting, each.address) for each in found] == expected
    for each in found:
        assert text[each.start : each.end] in each.address


@pytest.mark.parametrize("name", [name for name, (_, expected) in FILES.items() if expected])
def test_a_host_is_replaced_where_it_stands_and_read_again(name):
    """As for a server that would not start without it."""
    text, _ = FILES[name]
    for number, each in enumerate(TARGETS[name].upstreams(text)):
        if not each.address.startswith("unix:"):
            other = f"{text[: each.start]}127.0.0.9{text[each.end :]}"
            port = each.address.rpartition(":")[2]
            assert TARGETS[name].upstreams(other)[number].address == f"127.0.0.9:{port}"


HTTP_AND_OTHERS = {
    "nginx": "http { upstream php { server unix:/p; } upstream a { server b:1; }\n"
    " server { location / { fastcgi_pass php; } location /a { proxy_pass http://a; } }\n"
    " server { location / { uwsgi_pass c:2; } } }\n",
    "apache": "ProxyPass /a http://b:1/\nProxyPassMatch x fcgi://c:2/srv/$1\n"
    '<FilesMatch x>\nSetHandler "proxy:unix:/p|fcgi://localhost"\n</FilesMatch>\n',
    "lighttpd": 'fastcgi.server = ( "" => (( "socket" => "/p" )))\n'
    'proxy.server = ( "" => (( "host" => "b", "port" => 1 )))\n',
    "h2o": "hosts:\n  a:\n    paths:\n      /: {fastcgi.connect: {port: /p, type: unix}}\n"
    "      /a: {proxy.reverse.url: 'http://b:1/'}\n",
}


@pytest.mark.parametrize("name", HTTP_AND_OTHERS)
def test_upstreams_are_told_apart_by_how_they_are_asked(name):
    """A workload that is handed on over HTTP measures nothing of FastCGI."""
    found = {each.address: each.over_http for each in TARGETS[name].upstreams(HTTP_AND_OTHERS[name])}
    assert found.pop("b:1")
    assert found.pop("unix:/p") is False
    assert not any(found.values())
