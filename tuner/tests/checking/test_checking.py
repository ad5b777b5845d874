"""What contradicts a machine: every rule fires on what it is for, at its line, and on nothing else."""

from dataclasses import replace

import pytest
from trimtab_tuner.checking import check, files
from trimtab_tuner.checking.machine import UNSEEN, Descriptors, Machine, SysctlLine
from trimtab_tuner.checking.statements import Statement, read
from trimtab_tuner.targets import TARGETS

# A machine with four CPUs that grants what most files want.
MACHINE = Machine(
    cpus=4.0,
    online=(0, 1, 2, 3),
    allowed=(0, 1, 2, 3),
    descriptors=Descriptors(65_536, 524_288, "nginx (process 7)"),
    somaxconn=4096,
)
FEW = replace(MACHINE, descriptors=Descriptors(1024, 4096, "nginx (process 7)"))
HALF = replace(MACHINE, cpus=0.5, cpu_limit="the quota of its control group pays for 0.5 CPUs of 4 (cpu.max)")
SHORT = replace(MACHINE, somaxconn=128)
WITHOUT_TLS = replace(MACHINE, protocols_over_tcp=frozenset({"mptcp"}))
NO_CERTIFICATE = replace(MACHINE, unreadable={"/c.pem": "there is no such file"})
ALONE = replace(MACHINE, unanswered={"127.0.0.1:8080": "nobody listens there"})


def at(kind):
    """The machine with /srv and the folder of logs on that kind of file system."""
    return replace(MACHINE, paths={"/srv": kind, "/var/log/nginx": kind})


PROXY = """events {{}}
http {{
  {http}
  upstream app {{
    server 127.0.0.1:8080;
    {kept}
  }}
  server {{ location / {{ {location} proxy_pass http://app; }} }}
}}
"""
OWN = 'proxy_http_version 1.1; proxy_set_header Connection "";'


def proxy(kept="", http="", location=""):
    """An nginx.conf that hands requests on; `proxy_pass` stands in line 8."""
    return PROXY.format(kept=kept, http=http, location=location)


def apache(*lines, mpm="event"):
    """An apache2.conf with these lines from the second on."""
    return "\n".join((f"LoadModule mpm_{mpm}_module modules/mod_mpm_{mpm}.so", *lines, ""))


SYSCTL = (
    SysctlLine("/etc/sysctl.d/10-web.conf", 3, "net.core.somaxconn", "8192"),
    SysctlLine("/etc/sysctl.d/20-other.conf", 1, "net.ipv4.tcp_rmem", "4096 131072 6291456"),
    SysctlLine("/etc/sysctl.conf", 9, "net.core.somaxconn", "1024"),
)
TWICE = replace(MACHINE, sysctl=SYSCTL, in_force={"net.core.somaxconn": "1024"})
ONCE = replace(
    MACHINE,
    sysctl=(SYSCTL[1], replace(SYSCTL[1], line=4, value="4096\t131072  6291456"), SYSCTL[0]),
    in_force={"net.core.somaxconn": "8192", "net.ipv4.tcp_rmem": "4096\t131072\t6291456"},
)
PROTECTED = SysctlLine("/usr/lib/sysctl.d/99-protect.conf", 1, "fs.protected_fifos", "1")

# rule: (server, file, machine, line)
FIRING = {
    "descriptors-above-hard-limit": ("nginx", "\nworker_rlimit_nofile 65000;\nevents {}\n", FEW, 2),
    "connections-above-descriptors": ("nginx", "events {\n  worker_connections 2048;\n}\n", FEW, 2),
    "files-above-descriptors": ("nginx", "events {\n  worker_connections 768;\n}\n", FEW, 2),
    "backlog-above-somaxconn": ("nginx", "http { server {\n  listen 80 backlog=4096;\n} }\n", SHORT, 2),
    "workers-above-quota": ("nginx", "worker_processes auto;\nevents {}\n", HALF, 1),
    "more-workers-than-cpus": ("nginx", "worker_processes 9;\nevents {}\n", MACHINE, 1),
    "pinned-to-other-cpus": (
        "nginx",
        "worker_processes 2;\nworker_cpu_affinity 0001 10000;\nevents {}\n",
        MACHINE,
        2,
    ),
    "server-limit-below-workers": ("apache", apache("ServerLimit 4", "MaxRequestWorkers 3000"), MACHINE, 3),
    "server-limit-below-value": ("apache", apache("ServerLimit 4", "StartServers 300"), MACHINE, 3),
    "limit-above-compiled": ("apache", apache("ServerLimit 30000", mpm="worker"), MACHINE, 2),
    "thread-limit-below-value": (
        "apache",
        apache("ThreadsPerChild 100", "MaxRequestWorkers 1600"),
        MACHINE,
        2,
    ),
    "workers-no-multiple-of-threads": ("apache", apache("MaxRequestWorkers 390"), MACHINE, 2),
    "upstream-keepalive-without-effect": ("nginx", proxy("keepalive 32;"), MACHINE, 8),
    "upstream-without-keepalive": ("nginx", proxy(), MACHINE, 4),
    "upstream-keepalive-takes-all-connections": ("nginx", proxy("keepalive 512;", OWN), MACHINE, 6),
    "upstream-does-not-answer": ("nginx", proxy("keepalive 9;", OWN), ALONE, 5),
    "sendfile-on-shared-file-system": (
        "nginx",
        "events {}\nhttp {\n  sendfile on;\n  server { root /srv; }\n}\n",
        at("vboxsf"),
        3,
    ),
    "open-file-cache-goes-stale": (
        "nginx",
        "events {}\nhttp {\n  open_file_cache max=100;\n  open_file_cache_valid 10m;\n}\n",
        MACHINE,
        4,
    ),
    "open-file-cache-keeps-errors": (
        "nginx",
        "events {}\nhttp {\n  open_file_cache max=100;\n  open_file_cache_errors on;\n}\n",
        MACHINE,
        4,
    ),
    "open-file-cache-above-descriptors": (
        "nginx",
        "events {}\nhttp {\n  open_file_cache max=10000;\n}\n",
        FEW,
        3,
    ),
    "log-opened-for-each-request": (
        "nginx",
        "events {}\nhttp {\n  access_log /var/log/nginx/$host.log;\n}\n",
        MACHINE,
        3,
    ),
    "log-folder-missing": (
        "nginx",
        "events {}\nhttp {\n  access_log /var/log/nginx/a.log;\n}\n",
        at(None),
        3,
    ),
    "cache-folder-missing": (
        "nginx",
        "events {}\nhttp {\n  fastcgi_cache_path /srv/wp/ keys_zone=WP:9m;\n}\n",
        at(None),
        3,
    ),
    "log-on-unsuitable-file-system": (
        "nginx",
        "events {}\nhttp {\n  access_log /var/log/nginx/a.log;\n}\n",
        at("tmpfs"),
        3,
    ),
    "tls-not-by-kernel": (
        "nginx",
        "events {}\nhttp {\n  ssl_conf_command Options PrioritizeChaCha,KTLS;\n}\n",
        WITHOUT_TLS,
        3,
    ),
    "tls-file-unreadable": (
        "nginx",
        "events {}\nhttp {\n  server {\n    ssl_certificate /c.pem;\n  }\n}\n",
        NO_CERTIFICATE,
        4,
    ),
    "tls-file-not-seen": (
        "h2o",
        "hosts:\n  a:\n    listen:\n      port: 443\n      ssl:\n        key-file: /c.pem\n",
        replace(MACHINE, unreadable={"/c.pem": UNSEEN}),
        6,
    ),
    "debug-log": ("nginx", "error_log /var/log/nginx/error.log debug;\nevents {}\n", MACHINE, 1),
    "directive-not-allowed-so": (
        "nginx",
        "events {}\nhttp {\n  server { worker_connections 9; }\n}\n",
        MACHINE,
        3,
    ),
    "no-events": ("nginx", "worker_processes 1;\nhttp {}\n", MACHINE, None),
    "word-for-a-number": ("apache", apache("KeepAliveTimeout short"), MACHINE, 2),
    "not-a-number": ("h2o", "hosts:\n  a: {}\nnum-threads: -1\n", MACHINE, 3),
    "set-twice": ("h2o", "num-threads: 2\nhosts:\n  a: {}\nnum-threads: 3\n", MACHINE, 4),
    "sysctl-set-twice": ("nginx", "events {}\n", TWICE, 3),
    "sysctl-not-in-force": (
        "nginx",
        "events {}\n",
        replace(MACHINE, sysctl=SYSCTL[:1], in_force={"net.core.somaxconn": "4096"}),
        3,
    ),
}

SILENT = {
    "descriptors-above-hard-limit": (
        ("nginx", "worker_rlimit_nofile 4096;\nevents {}\n", FEW),
        (  # whoever has the capability raises its own limit
            "nginx",
            "worker_rlimit_nofile 65000;\nevents {}\n",
            replace(FEW, descriptors=Descriptors(1024, 4096, "nginx", may_raise=True)),
        ),
    ),
    "connections-above-descriptors": (
        ("nginx", "events {}\n", FEW),
        ("nginx", "worker_rlimit_nofile 4096;\nevents { worker_connections 2048; }\n", FEW),
        ("h2o", "max-connections: 2048\n", FEW),  # it raises the limit by itself
    ),
    "files-above-descriptors": (("nginx", "events { worker_connections 512; }\n", FEW),),
    "tls-file-unreadable": (
        ("nginx", "events {}\nhttp { ssl_certificate /c.pem; }\n", MACHINE),
        ("nginx", "events {}\nhttp { ssl_certificate $name.pem; }\n", NO_CERTIFICATE),
        ("lighttpd", 'ssl.pemfile = "/c" + ".pem"\n', NO_CERTIFICATE),
        (  # of a module that is not loaded
            "apache",
            apache("<IfModule ssl_module>", "SSLCertificateFile /c.pem", "</IfModule>"),
            NO_CERTIFICATE,
        ),
    ),
    "tls-file-not-seen": (("nginx", "events {}\nhttp { ssl_certificate /c.pem; }\n", NO_CERTIFICATE),),
    "upstream-does-not-answer": (
        ("nginx", proxy("keepalive 9;", OWN), MACHINE),
        ("nginx", proxy("keepalive 9;", OWN).replace(":8080", ":8081"), ALONE),
    ),
    "backlog-above-somaxconn": (
        ("nginx", "http { server { listen 80 backlog=4096; } }\n", MACHINE),
        ("nginx", "http { server { listen 80; } }\n", replace(MACHINE, somaxconn=None)),
    ),
    "workers-above-quota": (
        ("nginx", "worker_processes auto;\nevents {}\n", MACHINE),
        ("nginx", "worker_processes 1;\nevents {}\n", HALF),
    ),
    "more-workers-than-cpus": (("nginx", "worker_processes 4;\nevents {}\n", MACHINE),),
    "pinned-to-other-cpus": (
        ("nginx", "worker_cpu_affinity 0001 1000;\nevents {}\n", MACHINE),
        ("nginx", "worker_cpu_affinity auto;\nevents {}\n", MACHINE),
    ),
    "server-limit-below-workers": (
        ("apache", apache("ServerLimit 120", "MaxRequestWorkers 3000"), MACHINE),
        (  # of a module that is not loaded
            "apache",
            apache("<IfModule mpm_prefork_module>", "MaxRequestWorkers 3000", "</IfModule>"),
            MACHINE,
        ),
        ("apache", apache("ServerLimit 300", "MaxRequestWorkers 300", mpm="prefork"), MACHINE),
    ),
    "server-limit-below-value": (("apache", apache("StartServers 16"), MACHINE),),
    "limit-above-compiled": (
        ("apache", apache("ServerLimit 20000", "ThreadLimit 20000", mpm="worker"), MACHINE),
        ("apache", apache("ThreadLimit 100000"), MACHINE),
        ("apache", apache("ServerLimit 200000", "ThreadLimit 30000", mpm="prefork"), MACHINE),
    ),
    "thread-limit-below-value": (
        ("apache", apache("ThreadLimit 100", "ThreadsPerChild 100", "MaxRequestWorkers 1600"), MACHINE),
    ),
    "workers-no-multiple-of-threads": (
        ("apache", apache("MaxRequestWorkers 375"), MACHINE),
        ("apache", apache("MaxRequestWorkers 191", mpm="prefork"), MACHINE),
    ),
    "upstream-keepalive-without-effect": (
        ("nginx", proxy("keepalive 32;", http=OWN), MACHINE),
        ("nginx", proxy("keepalive 32;", location=OWN), MACHINE),
        (  # as for WebSocket: empty where nobody upgrades
            "nginx",
            proxy("keepalive 32;", "proxy_http_version 1.1; proxy_set_header Connection $upgraded;"),
            MACHINE,
        ),
    ),
    "upstream-without-keepalive": (("nginx", proxy("keepalive 32;", http=OWN), MACHINE),),
    "upstream-keepalive-takes-all-connections": (("nginx", proxy("keepalive 32;", OWN), MACHINE),),
    "sendfile-on-shared-file-system": (
        ("nginx", "events {}\nhttp { sendfile on; server { root /srv; } }\n", at("ext4")),
        (
            "nginx",
            "events {}\nhttp { server { root /srv; } }\n",
            at("nfs4"),
        ),  # nginx reads without being told
        ("apache", apache("EnableMMAP Off", "DocumentRoot /srv"), at("nfs4")),
    ),
    "open-file-cache-goes-stale": (
        ("nginx", "events {}\nhttp { open_file_cache max=100; }\n", at("ext4")),
        ("nginx", "events {}\nhttp { open_file_cache off; open_file_cache_valid 1h; }\n", MACHINE),
    ),
    "open-file-cache-keeps-errors": (("nginx", "events {}\nhttp { open_file_cache max=100; }\n", MACHINE),),
    "open-file-cache-above-descriptors": (
        ("nginx", "worker_rlimit_nofile 4096;\nevents {}\nhttp { open_file_cache max=2000; }\n", FEW),
    ),
    "log-opened-for-each-request": (
        (
            "nginx",
            "events {}\nhttp { open_log_file_cache max=9; access_log /var/log/nginx/$host.log; }\n",
            MACHINE,
        ),
    ),
    "cache-folder-missing": (
        ("nginx", "events {}\nhttp { proxy_cache_path /srv/wp keys_zone=WP:9m; }\n", at("ext4")),
        ("nginx", "events {}\nhttp { proxy_cache_path cache keys_zone=WP:9m; }\n", at(None)),
    ),
    "log-folder-missing": (
        ("nginx", "events {}\nhttp { access_log off; }\n", at(None)),
        ("nginx", "events {}\nhttp { access_log syslog:server=unix:/dev/log; }\n", at(None)),
        ("nginx", "events {}\nhttp { access_log /dev/stdout; error_log /proc/self/fd/2; }\n", at(None)),
    ),
    "log-on-unsuitable-file-system": (
        ("nginx", "events {}\nhttp { access_log /var/log/nginx/a.log; }\n", at("ext4")),
    ),
    "tls-not-by-kernel": (
        (
            "nginx",
            "events {}\nhttp { ssl_conf_command Options KTLS; }\n",
            replace(MACHINE, protocols_over_tcp=frozenset({"mptcp", "tls"})),
        ),
        ("nginx", "events {}\nhttp { ssl_conf_command Options KTLS; }\n", MACHINE),  # nobody knows
        ("nginx", "events {}\nhttp { ssl_conf_command Options -KTLS; }\n", WITHOUT_TLS),
        ("nginx", "events {}\nhttp { ssl_conf_command Ciphersuites KTLS; }\n", WITHOUT_TLS),
    ),
    "debug-log": (("nginx", "error_log /var/log/nginx/error.log warn;\nevents {}\n", MACHINE),),
    "directive-not-allowed-so": (
        # Of a module that crossplane does not know; Lua, whose lines are no directives.
        ("nginx", "events {}\nhttp { content_by_lua_block { listen = 1 } brotli on; }\n", MACHINE),
        (
            "nginx",
            "events {}\nhttp { map $a $b { listen 1; server 2; } types { text/html html; } }\n",
            MACHINE,
        ),
    ),
    "no-events": (
        ("nginx", "worker_processes 1;\nevents {}\n", MACHINE),
        ("nginx", "worker_processes 1;\nevents { worker_connections 9; }\nhttp {}\n", MACHINE),
    ),
    "word-for-a-number": (
        ("apache", apache("KeepAliveTimeout 5s", 'Timeout "60"', "ListenBacklog 12abc"), MACHINE),
        ("apache", apache("KeepAliveTimeout ${SHORT}", "AsyncRequestWorkerFactor inf"), MACHINE),
        ("apache", apache("<IfModule mod_no.c>", "KeepAliveTimeout short", "</IfModule>"), MACHINE),
        ("apache", apache("<Macro m a>", "KeepAliveTimeout a", "</Macro>"), MACHINE),
        ("lighttpd", 'server.port = "KeepAliveTimeout short"\n', MACHINE),
    ),
    "not-a-number": (
        ("h2o", 'num-threads: "2"\nmax-connections: !env MOST\nhosts:\n  num-threads: {}\n', MACHINE),
        ("lighttpd", "var.n = 9\nserver.max-fds = n\nserver.max-worker = 2 + var.n\n", MACHINE),
        ("lighttpd", 'server.max-worker = env.WORKERS\nserver.max-connections = "9"\n', MACHINE),
    ),
    "set-twice": (
        ("h2o", "num-threads: 2\nlisten: 80\nlisten: 81\nhosts:\n  a: {max-connections: 1}\n", MACHINE),
        ("h2o", "hosts:\n  a: {num-threads: 1}\n  b: {num-threads: 2}\n", MACHINE),
    ),
    "sysctl-set-twice": (("nginx", "events {}\n", ONCE),),
    "sysctl-not-in-force": (
        ("nginx", "events {}\n", ONCE),
        ("nginx", "events {}\n", replace(MACHINE, sysctl=(PROTECTED,), in_force={PROTECTED.key: "0"})),
    ),
}


def found(server, text, machine):
    """What contradicts."""
    return check(read(TARGETS[server], text), machine)


@pytest.mark.parametrize("rule", FIRING)
def test_rule_fires_at_its_line_with_evidence(rule):
    """What it says ends as a sentence does, and there is something to do."""
    server, text, machine, line = FIRING[rule]
    own = [each for each in found(server, text, machine) if each.rule == rule]
    assert [each.line for each in own] == [line]
    (said,) = own
    assert said.sentence.endswith(".")
    assert said.suggestion
    assert said.evidence
    assert all(said.evidence)


def test_evidence_of_descriptors_is_the_limit_that_counts():
    """What the system refuses is none."""
    for asked, evidence in ((4096, "worker_rlimit_nofile 4096"), (9000, FEW.descriptors.evidence)):
        text = f"worker_rlimit_nofile {asked};\nevents {{ worker_connections 3000; }}\nhttp {{\n"
        said = found("nginx", f"{text} open_file_cache max=9999;\n}}\n", FEW)
        rules = (
            "connections-above-descriptors",
            "files-above-descriptors",
            "open-file-cache-above-descriptors",
        )
        assert [each.evidence for each in said if each.rule in rules] == [(evidence,)] * 2
    (cache,) = [each for each in said if each.rule == rules[2]]
    assert "LimitNOFILE=21022 of nginx.service" in cache.suggestion


def test_limits_that_apache_is_not_compiled_for_allow_what_it_is_compiled_for():
    """What they bound is held against the lower number."""
    text = apache("ServerLimit 900000", "MaxRequestWorkers 300000", mpm="prefork")
    lowers = "and Apache lowers it to that by itself."
    assert [each.sentence for each in found("apache", text, MACHINE)] == [
        f"MaxRequestWorkers 300000: ServerLimit 200000 allows 200,000, {lowers}",
        "ServerLimit 900000: Apache is compiled for at most 200,000, and lowers it to that by itself.",
    ]
    threads = found("apache", apache("ThreadLimit 100001"), MACHINE)
    assert [each.suggestion for each in threads] == ["ThreadLimit 100000."]


def test_remedy_for_too_many_processes_at_the_start_is_a_limit_of_as_many():
    """However many requests are to be worked on."""
    text = apache("StartServers 40", "ServerLimit 16", "MaxRequestWorkers 400")
    (said,) = [each for each in found("apache", text, MACHINE) if each.rule == "server-limit-below-value"]
    assert said.suggestion == "ServerLimit 40, or a lower value here."


@pytest.mark.parametrize("module", ["mpm_winnt_module", "mpm_winnt.c", "perchild.c", "!mpm_event_module"])
def test_numbers_of_another_system_s_processes_are_passed_over(module):
    """As files carry them that Apache ships for all."""
    section = (f"<IfModule {module}>", "ThreadsPerChild 250", "MaxRequestWorkers 50", "</IfModule>")
    assert found("apache", apache(*section), MACHINE) == ()


def test_fewer_workers_than_threads_are_raised_to_those_of_one_process():
    """Apache lowers what is no multiple, but never to none."""
    (said,) = found("apache", apache("MaxRequestWorkers 10"), MACHINE)
    assert "Apache raises it to 25." in said.sentence


def test_word_that_apache_takes_for_0_is_a_warning_and_one_that_it_refuses_an_error():
    """Neither is what was meant; in a virtual host as outside."""
    site = ("<VirtualHost *:80>", "KeepAliveTimeout short", "</VirtualHost>")
    text = apache("ThreadsPerChild many", *site)
    own = [each for each in found("apache", text, MACHINE) if each.rule == "word-for-a-number"]
    assert [(each.severity, each.line, each.sentence) for each in own] == [
        ("error", 4, "KeepAliveTimeout takes a number, and here it is short: Apache does not start."),
        ("warning", 2, "ThreadsPerChild takes a number, and here it is many: Apache takes it for 0."),
    ]


def test_words_of_lighttpd_in_place_of_numbers_are_told_unless_they_are_set_somewhere():
    """Whichever number it is."""
    text = 'server.max-fds = "x"\nserver.max-keep-alive-idle = var.later\n'
    own = [each for each in found("lighttpd", text, MACHINE) if each.rule == "not-a-number"]
    assert [each.sentence for each in own] == [
        "server.max-fds takes a whole number, and here it is x.",
        "server.max-keep-alive-idle takes a whole number, and here it is var.later.",
    ]


@pytest.mark.parametrize("rule", SILENT)
def test_near_misses_are_no_contradictions(rule):
    """Half of what a rule asks for is not enough."""
    for near_miss in SILENT[rule]:
        assert rule not in [each.rule for each in found(*near_miss)], near_miss


def test_there_is_a_near_miss_for_every_rule():
    """A rule without one might fire on anything."""
    assert SILENT.keys() == FIRING.keys()


@pytest.mark.parametrize(
    ("server", "text", "rule"),
    [
        ("apache", apache("ListenBacklog 4096"), "backlog-above-somaxconn"),
        (
            "lighttpd",
            'server.document-root = "/srv"\nserver.listen-backlog = 4096\n',
            "backlog-above-somaxconn",
        ),
        ("core", "[server]\nroot = /srv\nbacklog = 4096\n", "backlog-above-somaxconn"),
        ("mariadb", "[mariadbd]\nback_log = 4096\n", "backlog-above-somaxconn"),
    ],
)
def test_accept_queue_of_every_server_is_held_against_the_kernel(server, text, rule):
    """Each with its own setting, told as a warning at its line."""
    (said,) = [each for each in found(server, text, SHORT) if each.rule == rule]
    assert said.severity == "warning"
    assert text.splitlines()[said.line - 1].lower().startswith(said.sentence.split()[0].lower())
    assert "is cut to 128" in said.sentence


def test_queue_that_nobody_asked_for_is_a_note_without_a_line():
    """nginx asks for 511 by itself."""
    (said,) = found("nginx", "events {}\nhttp { server { listen 80; } }\n", SHORT)
    assert (said.severity, said.line) == ("note", None)
    assert "An accept queue of 511 is cut to 128" in said.sentence


def test_errors_come_first_then_lines():
    """Whoever looks at the first line sees the worst."""
    text = "worker_processes 9;\nevents { worker_connections 9000; }\nerror_log /var/log/e debug;\n"
    assert [each.severity for each in found("nginx", text, FEW)] == ["error", "warning", "note"]


def test_paths_that_are_asked_for_are_those_of_roots_and_folders_of_logs():
    """And no others: not what stands in a variable."""
    text = 'events {}\nhttp { access_log /var/log/a.log; root "/srv/a b"; server { root $home; } }\n'
    assert files.paths(read(TARGETS["nginx"], text)) == {"/var/log", "/srv/a b"}


def test_lines_of_long_files_are_found_in_time_that_grows_with_the_file():
    """Each by a search among the breaks, and not by counting from the beginning."""
    text = "\n".join(f"Define A{n} b" for n in range(5_000)) + "\n"
    statements = read(TARGETS["apache"], text).statements
    assert [each.line for each in statements] == list(range(1, 5_001))


class Counted(tuple[Statement, ...]):
    """Statements that count how often they are gone through."""

    times = 0

    def __iter__(self):
        Counted.times += 1
        return super().__iter__()


def test_every_rule_goes_through_a_large_file_as_often_as_through_a_small_one():
    """Or fourteen thousand sites would take as many times as long each."""
    times = []
    site = (
        "upstream a{0} {{ server b{0}; }}\nupstream k{0} {{ server b{0}; keepalive 9; }}\n"
        "server {{ listen 80 backlog=9999; root /srv; access_log /var/log/nginx/$host;\n"
        "open_file_cache max=9999; location / {{ proxy_pass http://a{0}; }}\n"
        "location /k {{ proxy_pass http://k{0}; }} }}\n"
    )
    for sites in (2, 40):
        text = "".join(map(site.format, range(sites)))
        file = read(TARGETS["nginx"], f"events {{}}\nhttp {{ sendfile on;\n{text}}}\n")
        Counted.times = 0
        found = check(replace(file, statements=Counted(file.statements)), replace(at("nfs"), somaxconn=128))
        assert len(found) >= 6 * sites
        times.append(Counted.times)
    assert times[0] == times[1]


@pytest.mark.parametrize(
    ("target", "text", "line", "said"),
    [
        ("nginx", "events {}\nhttp {\n ssl_certificate_key /c.pem;\n}\n", 3, "ssl_certificate_key /c.pem: "),
        ("nginx", "events {}\nhttp {\n proxy_ssl_crl /c.pem;\n}\n", 3, "proxy_ssl_crl /c.pem: "),
        (
            "apache",
            apache("LoadModule ssl_module s.so", "SSLCertificateFile /c.pem"),
            3,
            "SSLCertificateFile /",
        ),
        (
            "lighttpd",
            '$SERVER["socket"] == ":443" {\n ssl.privkey = "/c.pem"\n}\n',
            2,
            "ssl.privkey /c.pem: ",
        ),
        (
            "h2o",
            "listen:\n  port: 1\n  ssl: {certificate-file: /c.pem}\nhosts: {}\n",
            3,
            "certificate-file /",
        ),
    ],
)
def test_a_certificate_that_is_not_there_is_an_error_of_every_server(target, text, line, said):
    """With its line, and what it comes to."""
    found = [
        each
        for each in check(read(TARGETS[target], text), NO_CERTIFICATE)
        if each.rule == "tls-file-unreadable"
    ]
    assert [(each.severity, each.line) for each in found] == [("error", line)]
    assert found[0].sentence.startswith(said)
    assert found[0].sentence.endswith(f"there is no such file, so {TARGETS[target].program} does not start.")
