"""What a climb from outside takes from a run's exported files, and from generators that are not ours."""

from pathlib import Path

import pytest
from closed_loop import h2load_command, said_by_h2load, said_by_wrk
from exported_kernel import kernel_set, settings_of
from exported_text import check_measured, with_lines, with_values
from independent_climb import not_there_by_hand
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderContext

H2LOAD = """finished in 10.01s, 41202.30 req/s, 3.2MB/s
requests: 412100 total, 412150 started, 412100 done, 412023 succeeded, {failed} failed, 0 errored, 0 timeout
status codes: 412023 2xx, 0 3xx, 77 4xx, 0 5xx
"""
WRK = """  385320 requests in 10.00s, 3.2GB read
{refused}Requests/sec:  38532.11
"""
POLICY = "sys/devices/system/cpu/cpufreq/policy{}/scaling_governor"


@pytest.fixture
def kernel(tmp_path):
    """A kernel of files."""

    def hold(path: str, text: str) -> Path:
        file = tmp_path / "kernel" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    return {
        "autocorking": hold("proc/sys/net/ipv4/tcp_autocorking", "1\n"),
        "wmem": hold("proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t4194304\n"),
        "policy0": hold(POLICY.format(0), "schedutil\n"),
        "policy1": hold(POLICY.format(1), "schedutil\n"),
    }


@pytest.fixture
def exports(tmp_path):
    """The exported files of a run that has tuned the kernel."""
    (tmp_path / "90-trimtab.conf").write_text(
        "# Kernel settings.\n\nnet.ipv4.tcp_autocorking = 0\n"
        "# Sizes.\nnet.ipv4.tcp_wmem = 4096 65536 4194304\n# net.core.somaxconn = 4096\n"
    )
    (tmp_path / "tmpfiles-trimtab.conf").write_text(
        "# Frequencies.\nw /sys/devices/system/cpu/cpufreq/policy*/scaling_governor - - - - performance\n"
    )
    return tmp_path


BEGAN = {"tcp_autocorking": 1, "tcp_wmem_default": 16_384, "scaling_governor": "schedutil", "backlog": 511}
TUNED = {"tcp_autocorking": 0, "tcp_wmem_default": 65_536, "scaling_governor": "performance", "backlog": 511}


def test_kernel_is_as_the_exported_files_say_and_afterwards_as_it_was(kernel, exports, tmp_path):
    """Numbers, one of three sizes, and a word for each policy that there is."""
    with kernel_set(settings_of(exports), BEGAN, TUNED, tmp_path / "kernel"):
        held = {name: file.read_text().split() for name, file in kernel.items()}
        assert held["autocorking"][0][:1] == "0"
        assert held["wmem"][:3] == ["4096", "65536", "4194304"]
        assert held["policy0"] == held["policy1"] == ["performance"]
    assert kernel["autocorking"].read_text().startswith("1")
    assert kernel["wmem"].read_text().split()[:3] == ["4096", "16384", "4194304"]
    assert kernel["policy1"].read_text().startswith("schedutil")


def test_kernel_is_put_back_whatever_ends_the_climb(kernel, exports, tmp_path):
    """Ctrl-C for one."""
    with (
        pytest.raises(KeyboardInterrupt),
        kernel_set(settings_of(exports), BEGAN, TUNED, tmp_path / "kernel"),
    ):
        raise KeyboardInterrupt
    assert kernel["wmem"].read_text().split()[1] == "16384"


def test_knob_that_cannot_be_set_is_named_and_those_before_it_are_put_back(kernel, exports, tmp_path):
    """A kernel without the file; another had been set by then."""
    kernel["wmem"].unlink()
    began = {name: value for name, value in BEGAN.items() if name != "tcp_wmem_default"}
    with (
        pytest.raises(SystemExit, match=r"tcp_wmem cannot be set to 4096 65536 4194304: there is no such"),
        kernel_set(settings_of(exports), began, TUNED, tmp_path / "kernel"),
    ):
        pass
    assert kernel["autocorking"].read_text().startswith("1")


def test_kernel_that_is_no_longer_the_run_s_is_named(kernel, exports, tmp_path):
    """The default is climbed under the kernel that the run has found."""
    kernel["autocorking"].write_text("0\n")
    with (
        pytest.raises(SystemExit, match=r"tcp_autocorking is 0, and was 1 in the run"),
        kernel_set({}, BEGAN, BEGAN, tmp_path / "kernel"),
    ):
        pass


def test_tuned_knob_that_no_exported_file_sets_is_named(kernel, exports, tmp_path):
    """What is recommended is climbed with all of it or not at all."""
    (exports / "tmpfiles-trimtab.conf").unlink()
    with (
        pytest.raises(SystemExit, match=r"scaling_governor is schedutil, and was performance in the run"),
        kernel_set(settings_of(exports), BEGAN, TUNED, tmp_path / "kernel"),
    ):
        pass
    assert kernel["autocorking"].read_text().startswith("1")


def test_what_follows_from_a_value_as_measured_follows_it_in_the_exported_file():
    """Apache starts all its processes at once: with half of them, half as many are started."""
    apache = TARGETS["apache"]
    measured = {**apache.space(cpus=1).default(), "ServerLimit": 4}
    written = {**measured, "ServerLimit": 8}
    context = RenderContext(root="/srv/www", listen=("127.0.0.1:8000",), prefix="/srv/own")
    exported = "# As exported.\n" + apache.render(written, context, lambda name: f"# {name}.\n")
    text = with_lines(exported, apache.render(written, context), apache.render(measured, context))
    assert "\nServerLimit 4\n" in text
    assert "\nStartServers 4\n" in text
    assert "\nMaxRequestWorkers 100\n" in text
    assert "# ServerLimit.\n" in text
    check_measured(apache, text, written, measured, 1)
    with pytest.raises(SystemExit, match="ServerLimit"):
        check_measured(apache, exported, written, measured, 1)


def test_own_file_has_the_measured_values_where_the_others_stood():
    """However they are written; what the two have in common stays."""
    text = "worker_processes  2;\nevents { worker_connections\t9968; }\n# 9968 of 2\n"
    written = {"worker_processes": 2, "worker_connections": 9968, "sendfile": "on"}
    measured = {"worker_processes": 1, "worker_connections": 2900, "sendfile": "on"}
    own = with_values(text, written, measured)
    assert own == "worker_processes  1;\nevents { worker_connections\t2900; }\n# 9968 of 2\n"


def test_run_under_conditions_that_are_not_there_by_hand_is_not_climbed():
    """Each is named."""
    definition = {"conditions": {"memory": "heavy-io", "start": "warm", "link": "gigabit"}}
    definition |= {"name": "w", "help": "h"}
    recorded = {"definition": definition}
    run = {"workload_parameters": recorded, "fleet": None, "outcome": {"best": {"replicas": 2}}}
    assert not_there_by_hand(run) == ["its heavy-io memory", "its gigabit link", "its replicas"]
    recorded["definition"] = {**definition, "conditions": {}, "upstream": {"replaced": [{"name": "app"}]}}
    run["outcome"] = {"best": {}}
    assert not_there_by_hand(run) == ["the upstreams of its file"]
    plain = {"workload_parameters": {}, "fleet": None, "outcome": {"best": {}}}
    assert not_there_by_hand(plain) == []


def test_h2load_asks_by_http_1_over_as_many_connections_as_wrk():
    """Over HTTP/2 with the streams of the workload."""
    assert h2load_command(Path("list"), (2, 3), None) == ["h2load", "--h1", "-t2", "-c128", "-D10", "-ilist"]
    assert h2load_command(Path("list"), (2,), 100)[1] == "-m100"


def test_rates_are_read_from_what_the_instruments_print():
    """A few requests may fail, as in a climb."""
    assert said_by_h2load(H2LOAD.format(failed=77)) == 41_202.3
    assert said_by_wrk(WRK.format(refused="")) == 38_532.11
    assert said_by_wrk(WRK.format(refused="  Non-2xx or 3xx responses: 1000\n")) == 38_532.11


@pytest.mark.parametrize(
    ("read", "said", "expected"),
    [
        (said_by_h2load, H2LOAD.format(failed=4000), "h2load was refused 4000 of 416023 requests"),
        (said_by_wrk, WRK.format(refused="  Non-2xx or 3xx responses: 2000\n"), "wrk was refused 2000"),
        (said_by_h2load, "requests: 0 total", "h2load said nothing"),
        (said_by_h2load, H2LOAD.format(failed=0).replace("412023", "0"), "h2load was refused 0 of 0"),
    ],
)
def test_instrument_that_was_refused_requests_says_so(read, said, expected):
    """So does one that was answered nothing."""
    with pytest.raises(SystemExit, match=expected):
        read(said)
