"""Counters from recorded kernel text, and from this machine."""

import os
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from trimtab_agent.counters import cpu, devices, memory, network, paging, pressure, process, softirqs
from trimtab_agent.counters import source as source_module
from trimtab_agent.counters.server import ServerSource, WorkersSource
from trimtab_agent.counters.source import CounterSet

STAT = """cpu  100 0 50 800 10 0 20 0 0 0
cpu0 60 0 30 380 10 0 20 0 0 0
cpu1 40 0 20 420 0 0 0 0 0 0
intr 1000 5 0
ctxt 2000
btime 1795250820
processes 300
procs_running 3
procs_blocked 1
softirq 400 0 100
"""
STAT_LATER = """cpu  150 0 70 860 10 0 50 10 0 0
cpu0 100 0 40 390 10 0 50 10 0 0
cpu1 50 0 30 470 0 0 0 0 0 0
intr 1500 5 0
ctxt 2600
btime 1795250820
processes 301
procs_running 2
procs_blocked 0
softirq 900 0 100
"""
NETSTAT = """TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPSynRetrans
TcpExt: 0 {overflows} {drops} 4
IpExt: InNoRoutes InTruncatedPkts
IpExt: 0 0
"""
SNMP = """Tcp: RtoAlgorithm MaxConn ActiveOpens RetransSegs
Tcp: 1 -1 {opens} 12
"""
SOCKSTAT = """sockets: used 30
TCP: inuse 12 orphan 0 tw 34 alloc 13 mem 304
UDP: inuse 0 mem 0
"""


def test_cpu_time_is_split_into_percent_of_each_cpu():
    """Percentages are those of the ticks that passed, per CPU and in total."""
    source = cpu.CpuSource()
    values = source.values(cpu.parse(STAT), cpu.parse(STAT_LATER), 2.0)
    first, second = values["cpus"]
    assert (first["cpu"], first["user"], first["softirq"], first["steal"]) == (0, 40.0, 30.0, 10.0)
    assert second["idle"] == pytest.approx(71.43, abs=0.01)
    assert sum(values["total"].values()) == pytest.approx(100, abs=0.1)


def test_switches_and_interrupts_are_rates_and_queues_are_gauges():
    """Counters are divided by the interval; the run queue is as of the later reading."""
    values = cpu.CpuSource().values(cpu.parse(STAT), cpu.parse(STAT_LATER), 2.0)
    assert (values["context_switches_per_s"], values["interrupts_per_s"]) == (300.0, 250.0)
    assert (values["run_queue"], values["blocked"]) == (2, 0)


def test_iowait_that_runs_backwards_counts_as_nothing():
    """The kernel's own caveat: iowait may decrease."""
    shares = cpu.percentages((0, 0, 0, 100, 10, 0, 0, 0), (10, 0, 0, 190, 8, 0, 0, 0))
    assert (shares["user"], shares["iowait"], shares["idle"]) == (10.0, 0.0, 90.0)


def test_memory_is_in_bytes():
    """The kernel's kB are KiB."""
    text = (
        "MemTotal:       24684096 kB\nMemAvailable:   24233732 kB\nCached:  401028 kB\nHugePages_Total:  0\n"
    )
    values = memory.MemorySource().values({}, memory.parse(text), 1.0)
    assert values == {
        "total_bytes": 24684096 * 1024,
        "available_bytes": 24233732 * 1024,
        "page_cache_bytes": 401028 * 1024,
    }


def test_blocks_in_and_out_are_rates():
    """/proc/vmstat counts since boot; an old kernel's missing counters are left out."""
    earlier = paging.parse("pgpgin 1000\npgpgout 500\nnr_free_pages 77\n")
    later = paging.parse("pgpgin 3000\npgpgout 500\nnr_free_pages 78\n")
    values = paging.PagingSource().values(earlier, later, 2.0)
    assert values == {"read_kib_per_s": 1000.0, "written_kib_per_s": 0.0}


def write_net(directory: Path, *, overflows: int, drops: int, opens: int, softnet: str) -> None:
    """A /proc/net with these counters."""
    (directory / "netstat").write_text(NETSTAT.format(overflows=overflows, drops=drops))
    (directory / "snmp").write_text(SNMP.format(opens=opens))
    (directory / "sockstat").write_text(SOCKSTAT)
    (directory / "softnet_stat").write_text(softnet)


def test_listen_overflows_and_softnet_drops_are_rates(tmp_path):
    """netstat by name, softnet by CPU number (column 13), in hexadecimal."""
    zeros = "00000000 " * 9
    source = network.NetworkSource(tmp_path)
    write_net(
        tmp_path,
        overflows=5,
        drops=7,
        opens=100,
        softnet=f"00000010 00000000 00000000 {zeros}00000001 00000000\n",
    )
    earlier = source.read()
    write_net(
        tmp_path,
        overflows=25,
        drops=27,
        opens=300,
        softnet=f"00000110 00000004 00000002 {zeros}00000001 00000000\n",
    )
    values = source.values(earlier, source.read(), 2.0)
    assert (values["listen_overflows_per_s"], values["listen_drops_per_s"]) == (10.0, 10.0)
    assert values["active_opens_per_s"] == 100.0
    assert (values["tcp_in_use"], values["tcp_time_wait"]) == (12, 34)
    assert values["softnet"] == [
        {"cpu": 1, "processed_per_s": 128.0, "dropped_per_s": 2.0, "squeezed_per_s": 1.0}
    ]


SOFTIRQS_4_19 = """                    CPU0       CPU1       CPU2       CPU3
          HI:          0          1          0          0
       TIMER:       1000       1000          0          0
      NET_TX:          5          0          0          0
      NET_RX:        100       4000          0          0
       SCHED:         10         10          0          0
"""
SOFTIRQS_6_18 = """                    CPU0       CPU1
          HI:          0          1
       TIMER:       1500       1200
      NET_TX:          5          2
      NET_RX:        300       9000
       SCHED:         20         30
         RCU:          1          1
"""


def test_softirqs_are_rates_of_the_cpus_that_did_any():
    """Columns of CPUs that are not there stay out."""
    source = softirqs.SoftirqSource()
    values = source.values(softirqs.parse(SOFTIRQS_4_19), softirqs.parse(SOFTIRQS_6_18), 2.0)
    assert [row["cpu"] for row in values["cpus"]] == [0, 1]
    assert values["cpus"][1] == {
        "cpu": 1,
        "timer_per_s": 100.0,
        "send_per_s": 1.0,
        "receive_per_s": 2500.0,
        "scheduler_per_s": 10.0,
    }


def net_dev(lo: int, eth0: int, drops: int) -> str:
    """A /proc/net/dev in which the two devices have received so many bytes."""
    zeros = "0 0 0 0 0 0 0"
    return (
        "Inter-|   Receive |  Transmit\n face |bytes packets errs drop … |bytes …\n"
        f"    lo:{lo} 10 0 0 0 0 0 0 {lo} 10 {zeros[:-2]}\n"
        f"  eth0: {eth0} 20 0 {drops} 0 0 0 0 500 5 {zeros[:-2]}\n"
    )


def test_devices_have_bytes_and_drops_per_second():
    """A quiet device is left out; a name may touch its first number, as old kernels print it."""
    source = devices.DeviceSource()
    values = source.values(devices.parse(net_dev(1000, 0, 0)), devices.parse(net_dev(1000, 4000, 6)), 2.0)
    assert list(values) == ["eth0"]
    assert values["eth0"]["received_bytes_per_s"] == 2000.0
    assert values["eth0"]["receive_drops_per_s"] == 3.0


def test_a_device_that_was_made_anew_begins_with_the_next_sample():
    """Its counts began at zero again: that is no negative rate."""
    source = devices.DeviceSource()
    assert source.values(devices.parse(net_dev(5000, 0, 0)), devices.parse(net_dev(10, 0, 0)), 1.0) == {}


def test_refaults_have_the_same_name_before_linux_5_9():
    """The kernel renamed its counter when refaults of anonymous pages came."""
    old, new = "workingset_refault 10\n", "workingset_refault_anon 5\nworkingset_refault_file 30\n"
    values = paging.PagingSource().values(paging.parse(old), paging.parse(new), 2.0)
    assert values == {"file_refaults_per_s": 10.0}


def test_switches_and_moves_of_processes_are_told():
    """Voluntary switches are waits, involuntary ones preemptions; another CPU than before is a move.

    A process that has done next to nothing, as a master does, has not been moved away from any work.
    """
    status = "Name:\tx\nvoluntary_ctxt_switches:\t{}\nnonvoluntary_ctxt_switches:\t{}\n"
    stat = "1 (x) S 1 2 2 0 -1 4194560 0 0 0 0 {} 0 0 0 20 0 1 0 100 1000000 25 " + "0 " * 14 + "{} 0 0"
    worker = [process.parse(stat.format(9 * n, n), status.format(100 + 200 * n, 7 + 20 * n)) for n in (0, 1)]
    master = [process.parse(stat.format(n, n), status.format(0, 0)) for n in (0, 1)]
    pairs = zip(worker, master, strict=True)
    earlier, later = ({1: one, 2: other} for one, other in pairs)
    values = process.ProcessSource().values(earlier, later, 2.0)
    assert (values["waited_per_s"], values["preempted_per_s"]) == (100.0, 10.0)
    assert (values["processes"], values["busy"], values["moved"]) == (2, 1, 1)


def untold(_pid):
    """The clock of a process that stands in files only."""


def stat_of(*, own=(0, 0), children=(0, 0)):
    """/proc/PID/stat of a process that used these ticks, in user and kernel mode."""
    ticks = " ".join(map(str, (*own, *children)))
    return f"1 (x) S 1 2 2 0 -1 4194560 0 0 0 0 {ticks} 20 0 1 0 100 1000000 25 " + "0 " * 14 + "0 0 0"


def test_time_of_a_worker_that_has_ended_is_not_lost():
    """Its master has waited for it, and so has its 250 ticks; 100 of them were counted before."""
    earlier = {1: process.parse(stat_of(own=(5, 5))), 2: process.parse(stat_of(own=(80, 20)))}
    later = {1: process.parse(stat_of(own=(5, 5), children=(200, 50)))}
    values = process.ProcessSource().values(earlier, later, 1.0)
    ticks = process.TICKS_PER_S / 100
    assert (values["user"] * ticks, values["system"] * ticks) == (120.0, 30.0)


def test_time_of_a_worker_that_has_come_counts_from_its_beginning():
    """It was not there at the earlier reading."""
    earlier = {1: process.parse(stat_of(own=(5, 5)))}
    later = {1: process.parse(stat_of(own=(5, 5))), 2: process.parse(stat_of(own=(40, 10)))}
    values = process.ProcessSource().values(earlier, later, 1.0)
    ticks = process.TICKS_PER_S / 100
    assert (values["user"] * ticks, values["system"] * ticks) == (40.0, 10.0)


def test_worker_nobody_has_waited_for_makes_no_negative_time():
    """What it had used is gone with it; what the others used since is there."""
    earlier = {1: process.parse(stat_of(own=(5, 5))), 2: process.parse(stat_of(own=(800, 200)))}
    later = {1: process.parse(stat_of(own=(25, 5)))}
    values = process.ProcessSource().values(earlier, later, 1.0)
    ticks = process.TICKS_PER_S / 100
    assert (values["user"] * ticks, values["system"] * ticks) == (20.0, 0.0)


def test_pool_whose_processes_each_use_less_than_a_tick_is_counted_whole():
    """500 of them, 4 ms each: two seconds of work, of which ticks tell nothing but the mode."""
    stats = [stat_of(own=(3, 1)), stat_of()]
    earlier = {pid: process.parse(stats[pid > 0], cpu_ns=0) for pid in range(500)}
    later = {pid: process.parse(stats[pid > 0], cpu_ns=4_000_000) for pid in range(500)}
    values = process.ProcessSource().values(earlier, later, 4.0)
    assert (values["user"], values["system"]) == (37.5, 12.5)


def test_clocks_of_a_pool_tell_what_its_ticks_round_away():
    """The real /proc: 40 children that each work for 4 ms, which is no tick."""
    go, done, end = os.pipe(), os.pipe(), os.pipe()
    children = []
    for _ in range(40):
        if (child := os.fork()) == 0:
            os.close(end[1])
            os.read(go[0], 1)
            until_s = time.thread_time() + 0.004
            while time.thread_time() < until_s:
                pass
            os.write(done[1], b".")
            os.read(end[0], 1)
            os._exit(0)
        children.append(child)
    source = process.ProcessSource()
    source.watch(tuple(children))
    try:
        earlier = source.read()
        os.write(go[1], b"." * len(children))
        seen = sum(len(os.read(done[0], 1)) for _ in children)
        values = source.values(earlier, source.read(), 1.0)
    finally:
        os.close(end[1])
        for child in children:
            os.waitpid(child, 0)
    assert seen == values["processes"] == len(children)
    assert values["user"] + values["system"] >= 16.0


def test_process_without_a_clock_is_counted_in_ticks(tmp_path, monkeypatch):
    """Some kernels in user space have no clock of another process."""

    def missing(_pid):
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(process, "cpu_time_ns", missing)
    proc_of(tmp_path / "7", 100)
    source = process.ProcessSource(tmp_path)
    source.watch((7,))
    earlier = source.read()
    (tmp_path / "7/stat").write_text(stat_of(own=(30, 10)))
    values = source.values(earlier, source.read(), 1.0)
    ticks = process.TICKS_PER_S / 100
    assert (values["user"] * ticks, values["system"] * ticks) == (30.0, 10.0)


def proc_of(directory, pss_kib, children=()):
    """A process's directory in a /proc of files."""
    pid = directory.name
    (directory / "task" / pid).mkdir(parents=True)
    (directory / "task" / pid / "children").write_text("".join(f"{child} " for child in children))
    (directory / "stat").write_text(stat_of())
    (directory / "status").write_text("")
    (directory / "smaps_rollup").write_text(f"5-7 ---p 0 00:00 0 [rollup]\nRss: 9999 kB\nPss: {pss_kib} kB\n")


def test_memory_is_the_proportional_share_of_all_processes_also_of_those_that_came_later(tmp_path):
    """Only the master was there when the server was watched."""
    proc_of(tmp_path / "7", 100, children=(8, 9))
    proc_of(tmp_path / "8", 40)
    proc_of(tmp_path / "9", 2)
    source = process.ProcessSource(tmp_path, cpu_ns=untold)
    source.watch((7, 8, 4711))
    assert source.memory_bytes() == 142 * 1024
    assert source.read().keys() == {7, 8, 9}


def test_memory_that_one_process_does_not_tell_is_missing_and_not_zero(tmp_path):
    """Without /proc/PID/smaps_rollup (before Linux 4.14, or not allowed) there is no sum."""
    proc_of(tmp_path / "7", 100, children=(8,))
    proc_of(tmp_path / "8", 40)
    (tmp_path / "8/smaps_rollup").unlink()
    source = process.ProcessSource(tmp_path, cpu_ns=untold)
    source.watch((7,))
    assert source.memory_bytes() is None
    source.watch(())
    assert source.memory_bytes() is None


def test_pages_that_a_process_shares_with_its_parent_count_once():
    """The real /proc: 32 MiB that both have, and a child that has nothing else."""
    shared = bytearray(b"x") * 2**25
    ends = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ends[1])
        os.read(ends[0], 1)
        os._exit(0)
    source = process.ProcessSource()
    source.watch((os.getpid(),))
    alone = process.ProcessSource()
    alone.watch((child,))
    try:
        both_bytes, child_bytes = source.memory_bytes(), alone.memory_bytes()
    finally:
        os.close(ends[1])
        os.waitpid(child, 0)
    assert child_bytes >= len(shared) / 2
    assert both_bytes < process.parse(Path("/proc/self/stat").read_text()).resident_bytes + 2**24


def test_source_that_had_to_be_waited_for_spoils_nobody_elses_rates(monkeypatch):
    """The status page of a busy server comes late; each source has its own interval."""
    clock = SimpleNamespace(now_s=0.0)
    monkeypatch.setattr(source_module.time, "monotonic", lambda: clock.now_s)

    class Late:
        """Tells its interval, and has to be waited for at the second reading."""

        def __init__(self, name, waits_s):
            self.name, self._waits_s = name, list(waits_s)

        def read(self):
            """Takes its time."""
            clock.now_s += self._waits_s.pop(0)
            return True

        def values(self, earlier, later, interval_s):
            """Just the interval."""
            return {"interval_s": interval_s}

    counters = CounterSet([Late("prompt", [0, 0]), Late("late", [0, 0.25])])
    earlier = counters.take()
    clock.now_s = 1.0
    sample = counters.between(earlier, counters.take())
    assert sample["prompt"]["interval_s"] == 1.0
    assert sample["late"]["interval_s"] == 1.25


def test_pressure_is_the_share_of_the_interval():
    """From the running totals in microseconds, not from the kernel's own averages."""
    line = "some avg10=0.03 avg60=0.93 avg300=2.47 total={}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
    earlier = {f"cpu_{k}": v for k, v in pressure.parse(line.format(1_000_000)).items()}
    later = {f"cpu_{k}": v for k, v in pressure.parse(line.format(1_500_000)).items()}
    values = pressure.PressureSource().values(earlier, later, 2.0)
    assert values == {"cpu_some": 25.0, "cpu_full": 0.0}


def test_process_name_with_parentheses_and_spaces_is_parsed():
    """The name is whatever the program calls itself."""
    rest = "S 1 2 2 0 -1 4194560 100 0 7 0 250 50 0 0 20 0 1 0 100 1000000 25 18446744073709551615"
    reading = process.parse(f"123 (a (b) c) {rest}")
    assert (reading.minor_faults, reading.major_faults) == (100, 7)
    assert (reading.user_ticks, reading.system_ticks) == (250, 50)
    assert reading.resident_bytes == 25 * process.PAGE_BYTES


def test_missing_source_is_reported_as_missing_and_not_as_zero(tmp_path):
    """A kernel without PSI shows no pressure rather than none."""
    counters = CounterSet([pressure.PressureSource(tmp_path / "pressure"), memory.MemorySource()])
    sample = counters.between(counters.take(), counters.take())
    assert "pressure" not in sample
    assert sample["missing"] == {"pressure": f"{tmp_path}/pressure/cpu: No such file or directory"}
    assert sample["memory"]["total_bytes"] > 0


@pytest.mark.live
def test_this_machines_cpu_time_adds_up():
    """The real /proc/stat: work done between two readings shows as user time of some CPU."""
    source = cpu.CpuSource()
    earlier = source.read()
    deadline = time.process_time() + 0.2
    while time.process_time() < deadline:
        pass
    values = source.values(earlier, source.read(), 0.2)
    assert values["total"]["user"] > 0
    assert all(
        sum(v for k, v in c.items() if k != "cpu") == pytest.approx(100, abs=0.1) for c in values["cpus"]
    )


def test_two_readers_do_not_mix_up_the_workers_of_the_server():
    """A trial and the sampler read at their own times; each finds the workers of its own reading."""
    worker = {"worker": 0, "pid": 1, "requests": 5}
    answers = [{"total": {}, "workers": [worker]}, None]
    server = ServerSource()
    server.watch(lambda: answers.pop(0))
    others = []

    class Between:
        """Stands between the two sources, where the other reader takes its turn."""

        name = "between"

        def read(self):
            """Has the other reader ask the server, which no longer answers."""
            other = threading.Thread(target=lambda: others.append(server.read()))
            other.start()
            other.join()

    readings = CounterSet([server, Between(), WorkersSource(server)]).take().readings
    assert others == [None]
    assert readings["server_workers"][0]["requests"] == 5


class BrokenSource:
    """A source whose file has a form that nobody has foreseen, when it is read or when it is compared."""

    def __init__(self, name, where):
        self.name, self._where = name, where
        self.read_times = 0

    def read(self):
        """Raises ValueError if it is broken there."""
        self.read_times += 1
        if self._where == "read":
            raise ValueError("invalid literal for int(): 'many'")
        return 1

    def values(self, earlier, later, interval_s):
        """Raises KeyError if it is broken there."""
        raise KeyError("MemTotal")


@pytest.mark.parametrize(
    ("where", "reason"),
    [("read", "ValueError: invalid literal for int(): 'many'"), ("values", "KeyError: 'MemTotal'")],
)
def test_source_with_an_unforeseen_error_ends_and_the_others_go_on(where, reason, caplog):
    """It is missing from then on, with the reason, is not read again, and the log tells once."""
    broken = BrokenSource("broken", where)
    counters = CounterSet([broken, cpu.CpuSource()])
    snapshots = [counters.take(), counters.take()]
    first = counters.between(*snapshots)
    times = broken.read_times
    second = counters.between(snapshots[1], counters.take())
    for sample in (first, second):
        assert sample["missing"] == {"broken": f"ended by an unforeseen error: {reason}"}
        assert "broken" not in sample
        assert sample["cpu"]["cpus"]
    assert broken.read_times == times
    assert len(caplog.records) == 1
