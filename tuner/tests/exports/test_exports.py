"""Exported files: their evidence, what they demand, translations, what changes in a user's own file."""

import configparser
import re
from dataclasses import replace

import pytest
from trimtab_tuner.certainty.setting_effects import SettingEffect
from trimtab_tuner.certainty.statistics import Gain
from trimtab_tuner.exports import ExportOrder, export_files, format_help, place_of
from trimtab_tuner.exports.translation import translate
from trimtab_tuner.roles import Role
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.backends import BACKENDS, with_backend
from trimtab_tuner.targets.base import ExportEvidence, RenderContext
from trimtab_tuner.targets.editing import own_values
from trimtab_tuner.targets.kernel import kernel_knob, with_kernel
from trimtab_tuner.targets.placement import REPLICA_KNOBS
from trimtab_tuner.targets.sources import recorded_sources
from trimtab_tuner.telling.people import Compared
from trimtab_tuner.telling.performance import Figure, Performance

GAIN = Gain(gain=0.234, low=0.201, high=0.268, significant=True, blocks=4)
TAIL = Gain(gain=-0.31, low=-0.4, high=-0.2, significant=True, blocks=4)
CPUS = (0, 2)
TUNED = {
    "core": {"workers": 3, "max_connections": 4000, "sendfile": "blocking"},
    "nginx": {"worker_processes": 3, "worker_connections": 1337, "sendfile": "on"},
    "lighttpd": {"server.max-worker": 3, "server.max-connections": 1334},
    "apache": {"ServerLimit": 3, "ThreadsPerChild": 128, "EnableSendfile": "on"},
    "h2o": {"num-threads": 3, "max-connections": 4000},
    "mariadb": {"thread_handling": "pool-of-threads", "thread_pool_size": 3, "max_connections": 4000},
}
WEB_SERVERS = [name for name, target in TARGETS.items() if target.protocol == "http"]


def others_of(name):
    """The targets that what was measured with this one is translated for."""
    own = TARGETS[name]
    return [target for target in TARGETS.values() if target is not own and target.protocol == own.protocol]


def order(name, tuned=None, **changes):
    """What to export for a target: tuned knobs, everything else at its default."""
    target = TARGETS[name]
    space = target.space(cpus=len(CPUS))
    default = changes.pop("default", space.default())
    fields = {
        "run": "7",
        "date": "2026-01-02",
        "host": "testhost",
        "workload": "specweb99",
        "objective": "condensed-area",
        "trials": 16,
        "default": default,
        "gain": GAIN,
        "tail": TAIL,
        "tail_at": "900 requests/s",
    }
    own = {name: changes.pop(name) for name in ("base", "expanded", "base_name") if name in changes}
    return ExportOrder(
        target=target,
        space=space,
        configuration={**default, **(TUNED[name] if tuned is None else tuned)},
        context=RenderContext(
            root="/srv/www",
            listen=("127.0.0.1:8000",),
            stats_socket="/run/stats.sock",
            server_cpus=CPUS,
            prefix="/var/own",
            error_log="/var/own/error.log",
        ),
        evidence=ExportEvidence(**{**fields, **changes}),
        **own,
    )


def exported(made):
    """The files by format."""
    return {file.format: file for file in export_files(made)}


def joined(text):
    """Comments with their wrapped lines put together."""
    return re.sub(r"\n\s*#   ", " ", text)


@pytest.mark.parametrize("name", TARGETS)
def test_every_format_comes_from_one_run(name):
    """The server's file, what changed, systemd, kernel, CPUs, TuneD, README, and every other server."""
    files = exported(order(name))
    program = TARGETS[name].program
    others = {target.program for target in others_of(name)}
    system = {"systemd", "sysctl", "affinity", "tuned", "readme"}
    assert set(files) == {program, f"{program}-changes"} | system | others
    assert len({file.file_name for file in files.values()}) == len(files)


@pytest.mark.parametrize("name", TARGETS)
def test_complete_file_reads_back_as_the_tuned_configuration(name):
    """Comments do not change what the server reads."""
    made = order(name)
    text = exported(made)[made.target.program].text
    read = made.target.parse(text, 2)
    assert TUNED[name].items() <= read.items()
    assert read == made.target.parse(made.target.render(made.configuration, made.context), 2)


@pytest.mark.parametrize("name", TARGETS)
def test_every_setting_is_commented_with_value_scope_and_effect(name):
    """Tuned ones with the measured effect and its interval."""
    made = order(name)
    text = joined(exported(made)[made.target.program].text)
    # Knobs that are not written for this configuration: what a newer server only knows, an unused pool.
    unwritten = {"tcp-reuseport", "file.io_uring", "ListenCoresBucketsRatio", "thread_pool_threads", "mpm"}
    left_to_mariadb = {"back_log", "thread_cache_size"}
    for knob in made.space.knobs:
        if knob.name in unwritten | left_to_mariadb | {"worker_cpu_affinity"}:
            continue
        if knob.name in REPLICA_KNOBS:
            continue  # no server's file says how many there are of it
        if knob.name == "affinity" and name != "core":
            continue  # whoever starts the server carries it out
        comment = re.search(
            rf"# {re.escape(knob.name)} = {made.configuration[knob.name]}\b.*\n\s*# Measured effect.*", text
        )
        assert comment, knob.name
        changed = knob.name in TUNED[name]
        assert changed == ("+23 % (95 % interval +20 % to +27 %)" in comment[0])


@pytest.mark.parametrize("name", TARGETS)
def test_effect_names_the_tail_and_a_translation_the_server_that_was_measured(name):
    """Throughput and tail for what was changed together; no word as if the other had been driven."""
    files = exported(order(name))
    own = joined(files[TARGETS[name].program].text)
    assert "+23 % (95 % interval +20 % to +27 %) in score; 99th percentile of the reply time -31 %" in own
    assert ("put your own in" in own) == (TARGETS[name].drop_in is None)
    for other in others_of(name):
        text = joined(files[other.program].text)
        assert "Measured effect:" not in text
        assert "Measured effect under" not in text
        assert f"Measured effect in {name}" in text
        assert f"this is the default of {other.name}" in text


def test_default_is_not_compared_with_itself():
    """When nothing was better the README says that, and lists every file that there is."""
    files = exported(order("nginx", tuned={}, gain=None, tail=None, score_mbps=99.0, default_score_mbps=99.0))
    text = files["readme"].text
    assert "nothing was shown to be better than the default" in text
    assert "against 99.0" not in text
    for file in ("nginx.conf", "nginx-changes.conf", "systemd-trimtab.conf", "90-trimtab.conf", "tuned.conf"):
        assert f"`{file}`" in text


def test_effect_of_each_setting_is_stated_for_it():
    """In its comment and in the README; what was tried and found worth nothing stands in the head."""
    single = Gain(gain=0.91, low=0.83, high=0.99, significant=True, blocks=3)
    effects = (
        SettingEffect(knob="workers", value=8, default=1, kept=True, gain=single),
        SettingEffect(knob="sendfile", value="blocking", default="nonblocking", kept=False),
    )
    files = exported(order("core", effects=effects))
    text = joined(files["trimtab-httpd"].text)
    assert "Measured effect under specweb99: workers 8: +91 % (+83 % to +99 %)." in text
    dropped = "Tried, and found worth nothing: sendfile blocking: no effect, left at nonblocking."
    assert dropped in text
    assert dropped in files["readme"].text
    assert "What each setting gives: workers 8: +91 % (+83 % to +99 %)." in files["readme"].text


def test_gain_is_told_in_capacity_wherever_that_is_known():
    """In the head of the file, at what was changed, and in the README; the score is only a score."""
    takes = Gain(gain=1.21, low=0.96, high=1.46, significant=True, blocks=4)
    files = exported(order("nginx", capacity_gain=takes, capacity_at_least=True))
    told = "at least +121 % (95 % interval +96 % to +146 %) in capacity"
    own = joined(files["nginx"].text)
    assert f"Gain over the default configuration: {told}, 4 blocks." in own
    assert f": {told}; 99th percentile" in own
    assert f"Gain over the default: {told}, 4 blocks." in files["readme"].text
    assert "Gain in score: +23 %" in files["readme"].text


def test_export_of_the_default_claims_nothing():
    """No gain, no effect, nothing changed."""
    files = exported(order("core", {}, gain=None, tail=None))
    assert "Gain" not in files["trimtab-httpd"].text
    assert "Nothing: no configuration was shown to be better." in files["trimtab-httpd-changes"].text
    assert "Gain" not in files["readme"].text
    assert not [file.format for file in files.values() if "interval" in file.text]


@pytest.mark.parametrize("name", TARGETS)
def test_system_files_hold_what_the_configuration_demands(name):
    """Descriptors for each process, and the accept queue where the kernel's default is too short."""
    made = order(name)
    demands = made.target.demands(made.configuration)
    files = exported(made)
    drop_in = configparser.ConfigParser(strict=False)
    drop_in.read_string(files["systemd"].text)
    assert drop_in["Service"]["LimitNOFILE"] == str(demands.descriptors)
    assert demands.descriptors > demands.connections
    profile = configparser.ConfigParser()
    profile.read_string(files["tuned"].text)
    assert int(profile["sysctl"]["net.core.somaxconn"]) >= (demands.backlog or 0)


def test_nginx_may_open_a_file_for_each_connection():
    """Full of clients that fetch files, a worker would else neither open the next one nor accept."""
    made = order("nginx", {"worker_connections": 1000, "open_file_cache": 3000})
    assert made.target.demands(made.configuration).descriptors > 2 * 1000 + 3000
    limit = re.search(r"worker_rlimit_nofile (\d+);", exported(made)["nginx"].text)
    assert limit
    assert int(limit[1]) > 2 * 1000 + 3000


def test_core_may_open_a_file_for_each_connection():
    """Those that are being sent stay open, whether the cache keeps them or not."""
    made = order("core", {"max_connections": 300, "workers": 1, "cache_entries": 1})
    assert made.target.demands(made.configuration).descriptors > 2 * 300


def test_apache_may_open_a_file_for_each_connection():
    """Those that are written on without a thread keep theirs."""
    made = order("apache", {"ThreadsPerChild": 10, "AsyncRequestWorkerFactor": 16})
    assert made.target.demands(made.configuration).descriptors > 2 * 170


def test_changes_of_apache_bring_the_limits_that_go_with_them():
    """Unset, MaxRequestWorkers is 400 and ThreadLimit 64, whatever else the file asks for."""
    lines = exported(order("apache"))["apache2-changes"].text.splitlines()
    assert {"ThreadsPerChild 128", "MaxRequestWorkers 384", "ThreadLimit 128"} <= set(lines)


def test_long_queue_raises_the_kernels_limit():
    """Else the kernel shortens it without a word."""
    text = exported(order("core", {"backlog": 9000}))["sysctl"].text
    assert "\nnet.core.somaxconn = 9000\n" in text
    assert "\nnet.core.somaxconn" not in exported(order("core"))["sysctl"].text


def test_affinity_script_is_given_the_cpus():
    """Those it was measured on are named in a comment."""
    text = exported(order("h2o"))["affinity"].text
    assert 'taskset -acp "$cpus" "$pid"' in text
    assert "It was measured as by: sh affinity.sh 0 2\n" in joined(text)


@pytest.mark.parametrize("name", ["lighttpd", "apache", "h2o"])
def test_affinity_script_deals_out_workers_that_the_server_cannot_pin(name):
    """One by one on the CPUs in turn."""
    files = exported(order(name, {**TUNED[name], "affinity": "aligned"}))
    assert 'taskset -acp "$cpus" "$pid"' not in files["affinity"].text
    assert ' "$cpu" "$worker"\n' in files["affinity"].text
    assert "trimtab affinity apply aligned" in joined(files["affinity"].text)
    assert "worker_cpu_affinity auto;" in files["nginx"].text


def test_affinity_that_a_server_has_no_setting_for_is_named():
    """In the translated file, as every knob without an equivalent."""
    files = exported(order("core", {"affinity": "process"}))
    assert "No equivalent in lighttpd: affinity = process." in joined(files["lighttpd"].text)
    assert "\n# CPUAffinity=0 2\n" in files["systemd"].text


def test_without_known_cpus_nothing_is_put_anywhere():
    """Neither a script nor a line in the drop-in, rather than CPU 0 for everyone."""
    made = order("h2o")
    files = exported(replace(made, context=replace(made.context, server_cpus=())))
    assert "affinity" not in files
    assert "affinity.sh" not in files["readme"].text
    assert "CPUAffinity=" not in files["systemd"].text


def test_readme_has_the_evidence():
    """Value, effect on throughput and tail with interval, workload, scope, demands, how to see it live."""
    text = exported(order("nginx"))["readme"].text
    assert "| `worker_processes` | 3 processes | 1 | in total over all workers |" in text
    assert "| `worker_connections` | 1337 connections | 512 | for each worker |" in text
    assert "Gain in score: +23 % (95 % interval +20 % to +27 %), 4 blocks." in text
    assert "at 900 requests/s -31 % (95 % interval -40 % to -20 %); less is better" in text
    assert "workload `specweb99`" in text
    assert "LimitNOFILE=2738" in text
    assert "- `worker_processes`: `pgrep -c -P" in text


STAND_ALONE = [name for name in TARGETS if TARGETS[name].drop_in is None]


@pytest.mark.parametrize("name", STAND_ALONE)
def test_file_that_was_measured_is_never_told_to_be_put_in_place_of_the_users(name):
    """It listens and logs where the measurement had it; its lines go into the user's file."""
    target, text = TARGETS[name], exported(order(name))["readme"].text
    assert f"{target.file_name} is the file that was measured, not a replacement of yours" in text
    stem, _, ending = target.file_name.rpartition(".")
    assert f"Put the lines of {stem}-changes.{ending} into your own file" in text
    assert f"trimtab tune --target {name} --base {target.usual_files[0]}" in text
    assert "put it there" not in text


def test_file_of_settings_alone_goes_beside_the_users_and_one_of_his_in_its_place():
    """And nothing is to be put anywhere where nothing is better."""
    assert "my.cnf has the settings alone, to stand beside your own files" in (
        exported(order("mariadb"))["readme"].text
    )
    own = "worker_processes 2;\nevents {\n}\nhttp { server { listen 80; } }\n"
    made = order(
        "nginx",
        {"worker_processes": 3},
        default=own_values(TARGETS["nginx"], own, 2),
        base=recorded_sources({"path": "/etc/nginx/nginx.conf", "text": own}),
        expanded=own,
    )
    text = exported(made)["readme"].text
    assert "keep a copy of /etc/nginx/nginx.conf, then put it there." in text
    assert "not a replacement" not in text
    assert "There is nothing to put in place" in exported(order("nginx", {}))["readme"].text


def test_readme_says_what_it_does_beside_the_others():
    """A column for each finalist; the sentence stands in the server's file too."""
    does = Performance(capacity_rps=Figure(mean=46000, low=45000, high=47000), at_least=True)
    named = (Compared("workers=2 *", does, 90.0), Compared("the default", Performance(), None))
    files = exported(order("nginx", headline="It follows more.", compared=named))
    text = files["readme"].text
    assert "|  | workers=2 * | the default |" in text
    assert "| capacity, requests/s | at least 46,000 (45,000 to 47,000) | none |" in text
    assert "It follows more." in text
    assert "It follows more." in joined(files["nginx"].text)


PHP = BACKENDS["php"]
POOL = {knob.name: knob.default for knob in PHP.knobs} | {"pm.max_children": 40}


@pytest.mark.parametrize("name", [name for name in TARGETS if TARGETS[name].serves_php])
def test_pool_of_php_is_exported_with_its_evidence(name):
    """Where the run had one; the server's file hands requests to it."""
    tuned = {**TUNED[name], **POOL}
    made = order(name, tuned)
    made = replace(
        made,
        space=with_backend(made.space, PHP),
        context=replace(made.context, php_socket="/var/own/php.sock"),
        evidence=replace(made.evidence, children="There was room for 90."),
    )
    files = exported(made)
    assert "There was room for 90.\npm.max_children = 40\n" in files["php-fpm"].text
    assert "; Measured effect" in files["php-fpm"].text
    assert "\nuser = www-data\ngroup = www-data\nlisten.owner = www-data\n" in files["php-fpm"].text
    assert "/var/own/php.sock" in files[made.target.program].text
    assert "| `pm.max_children` | 40 processes | 5 |" in files["readme"].text
    assert "pm.max_children" not in files["h2o"].text
    assert "php-fpm" not in exported(order(name))


def test_changes_name_the_block_they_belong_to():
    """nginx takes a directive only in its place."""
    text = exported(order("nginx"))["nginx-changes"].text
    assert "# in: main, outside of all blocks\nworker_processes 3;" in text
    assert "# in: events\nworker_connections 1337;" in text
    assert "multi_accept" not in text


@pytest.mark.parametrize("name", ["core", "lighttpd", "apache", "h2o"])
def test_changes_hold_only_what_differs_from_the_default(name):
    """They read back as the tuned knobs, with what must go with them."""
    made = order(name)
    text = exported(made)[f"{made.target.program}-changes"].text
    goes_with = {"MaxRequestWorkers": 384} if name == "apache" else {}
    assert made.target.parse(text, 2) == {**TUNED[name], **goes_with}


@pytest.mark.parametrize("source", WEB_SERVERS)
@pytest.mark.parametrize("destination", WEB_SERVERS)
def test_translation_lies_in_the_other_servers_space_and_names_what_is_lost(source, destination):
    """Every knob either has an origin there or is listed."""
    made = order(source)
    target = TARGETS[destination]
    translation = translate(made.target, made.configuration, target, 2)
    space = target.space(cpus=2)
    for knob in space.knobs:
        knob.check(translation.configuration[knob.name])
    told = set(translation.origins.values())
    assert told.isdisjoint(translation.without_equivalent)
    assert told | set(translation.without_equivalent) == set(made.configuration)
    assert target.equivalents[Role.WORKERS].read(translation.configuration) == 3
    meant = TARGETS[source].equivalents[Role.CONNECTIONS].read(made.configuration)
    assert target.equivalents[Role.CONNECTIONS].read(translation.configuration) >= meant


def test_core_becomes_nginx_in_its_own_terms():
    """4,000 over 3 workers rounded up is 1,334; the listening socket and the channel make 1,336."""
    tuned = {**TUNED["core"], "accept_limit": 16, "affinity": "process", "backlog": 4096, "sndbuf": 65_536}
    text = joined(exported(order("core", tuned))["nginx"].text)
    for line in (
        "worker_processes 3;",
        "worker_connections 1336;",
        "worker_cpu_affinity auto;",
        "multi_accept on;",
        "sendfile on;",
        "listen 127.0.0.1:8000 backlog=4096;",
        "open_file_cache max=30000 inactive=60s;",
        "keepalive_timeout 15s;",
    ):
        assert line in text, line
    assert "No equivalent in nginx: it accepts one or all, never 16; all is the nearest." in text
    assert "No equivalent in nginx: sndbuf = 65536." in text
    assert "No equivalent in nginx for blocking sockets" in text
    assert "nginx itself has not been measured" in text
    assert "Translated from workers = 3 of core." in text


def test_users_own_file_comes_back_with_only_the_tuned_settings_changed():
    """No comment is added to it; it is checked as the private instance, and says what it is in the README."""
    text = "worker_processes 2; # mine\nevents {\n}\nhttp { server { listen 80; } }\n"
    default = own_values(TARGETS["nginx"], text, 2)
    made = order(
        "nginx",
        {"worker_processes": 3},
        default=default,
        base=recorded_sources({"path": "/etc/nginx/nginx.conf", "text": text}),
        expanded=text,
    )
    file = exported(made)["nginx"]
    assert file.text == text.replace("worker_processes 2;", "worker_processes 3;")
    assert file.check.text is not None
    assert "127.0.0.1:8000" in file.check.text
    assert "server { listen 80" not in file.check.text
    assert "against the file nginx.conf" in exported(made)["nginx-changes"].text


def test_users_own_file_is_checked_with_what_it_includes():
    """The includes are filled in, since the check happens elsewhere."""
    text = "include modules/*.conf;\nworker_processes 2;\nevents {}\nhttp { server { listen 80; } }\n"
    expanded = text.replace("include modules/*.conf;", "timer_resolution 9ms;")
    default = own_values(TARGETS["nginx"], expanded, 2)
    tuned = {"worker_processes": 3}
    made = order(
        "nginx",
        tuned,
        default=default,
        base=recorded_sources({"path": "/etc/nginx/nginx.conf", "text": text}),
        expanded=expanded,
    )
    file = exported(made)["nginx"]
    assert "include modules/*.conf;" in file.text
    assert "timer_resolution 9ms;" in file.check.text
    assert "worker_processes 3;" in file.check.text
    assert "include" not in file.check.text


REPLICATED = {"replicas": 2, "replica_placement": "indirect"}


@pytest.mark.parametrize("name", WEB_SERVERS)
def test_each_replica_has_a_file_with_a_place_of_its_own(name):
    """Addresses, directories; the settings are the same, and each is checked."""
    made = order(name, {**TUNED[name], **REPLICATED})
    program, (stem, _, ending) = made.target.program, made.target.file_name.rpartition(".")
    files = exported(made)
    one, other = files[program], files[f"{program}-2"]
    assert (one.file_name, other.file_name) == (f"{stem}-1.{ending}", f"{stem}-2.{ending}")
    assert made.target.parse(one.text, 1) == made.target.parse(other.text, 1)
    for number, file in enumerate((one, other), start=1):
        assert file.check is not None
        assert f"127.0.0.{number}" in file.text
        assert f"127.0.0.{3 - number}" not in file.text
        assert f"/var/own/replica-{number}/" in file.text
        assert format_help(file.format, name)
    assert len({file.file_name for file in files.values()}) == len(files)


@pytest.mark.parametrize("name", WEB_SERVERS)
def test_replicas_are_started_by_a_template_unit_on_their_cpus(name):
    """The drop-ins say which; the queues of an indirect one belong to the other."""
    made = order(name, {**TUNED[name], **REPLICATED})
    files = exported(made)
    stem, _, ending = made.target.file_name.rpartition(".")
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read_string(files["systemd"].text)
    assert f"/var/own/{stem}-%i.{ending}" in unit["Service"]["ExecStart"]
    assert unit["Service"]["LimitNOFILE"] == str(made.target.demands(made.configuration).descriptors)
    for number, cpu, queues in ((1, 0, 2), (2, 2, 0)):
        assert f"\nCPUAffinity={cpu}\n" in files[f"systemd-{number}"].text
        assert f"device belong on CPU {queues}:" in joined(files[f"systemd-{number}"].text)
        assert f"| 127.0.0.{number}:8000 | {cpu} | on CPU {queues} |" in files["readme"].text
    assert "affinity" not in files
    assert f"enable --now {files['systemd'].file_name.removesuffix('.service')}1 " in files["readme"].text
    others = [target.program for target in others_of(name)]
    assert all("This is one of 2 replicas" in joined(files[other].text) for other in others)
    for other in others:
        assert not re.search(r"No equivalent in \w+: replica", joined(files[other].text))


def test_every_replica_has_the_pool_that_its_file_names():
    """Else one would ask the processes of the other."""
    made = order("nginx", {**TUNED["nginx"], **REPLICATED, **POOL})
    made = replace(
        made,
        space=with_backend(made.space, PHP),
        context=replace(made.context, php_socket="/var/own/php.sock"),
    )
    files = exported(made)
    for number, suffix in ((1, ""), (2, "-2")):
        assert f"listen = /var/own/replica-{number}/php.sock" in files[f"php-fpm{suffix}"].text
        assert f"/var/own/replica-{number}/php.sock" in files[f"nginx{suffix}"].text


def test_list_begins_with_the_servers_own_file_and_ends_with_the_script_for_the_cpus():
    """Also where replicas have a file each."""
    names = ["affinity", "nginx", "readme", "trimtab-httpd", "trimtab-httpd-2"]
    assert sorted(names, key=lambda name: place_of(name, "core")) == [
        "trimtab-httpd",
        "trimtab-httpd-2",
        "nginx",
        "readme",
        "affinity",
    ]


KERNEL = {
    "tcp_wmem_min": 4096,
    "tcp_wmem_default": 16_384,
    "tcp_wmem_max": 4_194_304,
    "tcp_congestion_control": "bbr",
    "transparent_hugepage": "madvise",
    "sched_base_slice_ns": 3_000_000,
    "scaling_governor": "powersave",
}


def with_kernel_order(**tuned):
    """An order whose space has knobs of the kernel."""
    made = order("nginx")
    here = [
        kernel_knob(name).here(value, (value, tuned[name]) if name in tuned else (value,))
        for name, value in KERNEL.items()
    ]
    return replace(
        made,
        space=with_kernel(made.space, here, free=KERNEL),
        configuration={**made.configuration, **KERNEL, **tuned},
        evidence=replace(
            made.evidence, default={**made.evidence.default, **KERNEL}, factorial="Gains: told."
        ),
    )


def test_changed_knobs_of_the_kernel_go_to_the_kernels_files_and_to_no_server():
    """Each with its comment; sizes of one file in one line."""
    files = exported(
        with_kernel_order(
            tcp_wmem_default=65_536,
            tcp_congestion_control="cubic",
            transparent_hugepage="always",
            scaling_governor="performance",
            sched_base_slice_ns=700_000,
        )
    )
    lines = files["sysctl"].text.splitlines()
    assert "net.ipv4.tcp_wmem = 4096 65536 4194304" in lines
    assert "net.ipv4.tcp_congestion_control = cubic" in lines
    assert "# tcp_wmem_default = 65536 bytes, for everything in the server's network namespace" in joined(
        files["sysctl"].text
    )
    assert [line for line in files["tmpfiles"].text.splitlines() if not line.startswith("#") and line] == [
        "w /sys/kernel/mm/transparent_hugepage/enabled - - - - always",
        "w /sys/kernel/debug/sched/base_slice_ns - - - - 700000",
        "w /sys/devices/system/cpu/cpufreq/policy*/scaling_governor - - - - performance",
    ]
    tuned = configparser.ConfigParser(delimiters="=")
    tuned.read_string(files["tuned"].text)
    assert tuned["sysctl"]["net.ipv4.tcp_wmem"] == "4096 65536 4194304"
    assert tuned["vm"]["transparent_hugepages"] == "always"
    assert tuned["cpu"]["governor"] == "performance"
    assert tuned["sysfs"]["/sys/kernel/debug/sched/base_slice_ns"] == "700000"
    for program in ("nginx", "nginx-changes", "h2o"):
        assert "tcp_wmem" not in files[program].text
    assert "Gains: told." in files["readme"].text
    assert "They count for everything on the machine" in files["readme"].text


def test_where_the_kernel_was_tuned_in_vain_no_file_changes_it():
    """And the README says so."""
    files = exported(with_kernel_order())
    assert "tmpfiles" not in files
    assert "tcp_" not in files["sysctl"].text + files["tuned"].text
    assert "no file here changes it" in files["readme"].text
