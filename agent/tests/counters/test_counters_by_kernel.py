"""Every source on the text of two kernels: what one of them does not count is left out, and never zero.

The texts under NEW were read on Linux 6.18.44 (x86-64, four CPUs, memory groups of version 1), some of them
shortened by whole lines or columns. Those under OLD are reconstructed from the kernel's documentation, with
the columns and names that a kernel of that age had; so are the files of memory groups of version 2. The
numbers in what is reconstructed are made up.
"""

from pathlib import Path
from typing import Any

import pytest
from trimtab_agent.counters import cpu, devices, memory, network, paging, pressure, process, softirqs
from trimtab_agent.counters.memory_group import MemoryGroupSource
from trimtab_agent.counters.source import Source
from trimtab_agent.station.memory_group import Controller, MemoryGroup

FILES = {
    "stat": {
        # Linux 2.6.28: no tenth column (guest_nice came with 2.6.33) and no line `softirq` (2.6.31).
        "OLD": """cpu  100 0 50 800 10 0 20 0 0
cpu0 100 0 50 800 10 0 20 0 0
intr 1000 5 0
ctxt 2000
btime 1264000000
processes 300
procs_running 3
procs_blocked 1
""",
        "NEW": """cpu  963976 33147 303576 1174592 1518 0 74975 33087 0 0
cpu0 452167 16051 102544 56764 108 0 20952 2628 0 0
cpu1 442943 17096 109533 57058 87 0 22453 1714 0 0
cpu3 46620 0 45293 513070 1184 0 17239 14688 0 0
intr 62492564 0 0 0 0
ctxt 119162069
btime 1795345858
processes 141174
procs_running 17
procs_blocked 0
softirq 100320743 0 3201877 98027 88953318 345114 0 38071 342888 831032 6510416
""",
    },
    "meminfo": {
        # Linux 3.10: MemAvailable came with 3.14.
        "OLD": "MemTotal:  1000 kB\nMemFree:  500 kB\nCached:  200 kB\nSwapTotal:  0 kB\nSwapFree:  0 kB\n",
        "NEW": """MemTotal:       24683672 kB
MemFree:        16629696 kB
MemAvailable:   22594124 kB
Buffers:          106816 kB
Cached:          5647348 kB
SwapCached:            0 kB
""",
    },
    "vmstat": {
        # Linux 4.19: refaults were those of files alone, under one name, until 5.9.
        "OLD": "pgpgin 4\npgpgout 5\npswpin 0\npswpout 0\npgmajfault 3\nworkingset_refault 8\n",
        "NEW": """workingset_nodes 25998
workingset_refault_anon 0
workingset_refault_file 756493
workingset_activate_file 187806
pgpgin 4628917
pgpgout 13522724
pswpin 0
pswpout 0
pgmajfault 5435
""",
    },
    "dev": {
        # Older kernels set no blank between the name of a device and a long count.
        "OLD": """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls \
carrier compressed
    lo:37609870 119196    0    0    0     0          0         0 37609870 119196    0    0    0     0     \
  0          0
""",
        "NEW": """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls \
carrier compressed
    lo: 376098700666 119196356    0    0    0     0          0         0 376098700666 119196356    0    0 \
   0     0       0          0
""",
    },
    "netstat": {
        # Before TCPReqQFullDrop and TCPSynRetrans were counted.
        "OLD": "TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPAbortOnTimeout\nTcpExt: 1 2 3 4\n",
        "NEW": """TcpExt: SyncookiesSent SyncookiesRecv ListenOverflows ListenDrops TCPAbortOnTimeout \
TCPReqQFullDrop TCPSynRetrans
TcpExt: 5839 20821 123363 123363 0 0 19969
IpExt: InNoRoutes InTruncatedPkts
IpExt: 0 0
""",
    },
    "snmp": {
        # Before Linux 3.10: no InCsumErrors.
        "OLD": """Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails \
EstabResets CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts
Tcp: 1 200 120000 -1 44 45 1 88 3 1212 1256 84 1 4
""",
        "NEW": """Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails \
EstabResets CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors
Tcp: 1 200 120000 -1 4453907 4464397 12414 8800661 386 121288336 125607655 84753 18725 4380671 0
""",
    },
    "sockstat": {
        "OLD": "sockets: used 30\nTCP: inuse 12 orphan 0 tw 34 alloc 13 mem 304\n"
        "UDP: inuse 0\nFRAG: inuse 0 memory 0\n",
        "NEW": """sockets: used 494
TCP: inuse 390 orphan 0 tw 3706 alloc 390 mem 197
UDP: inuse 0 mem 0
UDPLITE: inuse 0
RAW: inuse 0
FRAG: inuse 0 memory 0
""",
    },
    "softnet_stat": {
        # Linux 4.19: eleven columns, none of which is the CPU: its place in the file is.
        "OLD": ("00000010 00000001 00000002 " + "00000000 " * 7 + "00000000\n") * 2,
        "NEW": """026a997f 00000000 00000168 00000000 00000000 00000000 00000000 00000000 00000000 \
000df93b 00000000 00000000 00000000 00000000 00000000
02b42075 00000000 0000000e 00000000 00000000 00000000 00000000 00000000 00000000 00034e2b 00000000 \
00000000 00000001 00000000 00000000
""",
    },
    "softirqs": {
        # Linux 4.19: a column for every CPU that could ever come, at zero.
        "OLD": "         CPU0   CPU1   CPU2   CPU3\n  NET_TX:  5  0  0  0\n  NET_RX:  100  4000  0  0\n",
        "NEW": """                    CPU0       CPU1       CPU2       CPU3
          HI:          0          0          0          0
       TIMER:     558876     647961    1056707     938359
      NET_TX:      68780      29195         29         23
""",
    },
    "cpu": {
        # Linux 4.20 to 5.12: no line `full` for the CPU.
        "OLD": "some avg10=0.03 avg60=0.93 avg300=2.47 total=1000000\n",
        "NEW": """some avg10=84.44 avg60=82.76 avg300=83.26 total=5044394674
full avg10=0.00 avg60=0.00 avg300=0.00 total=0
""",
    },
    "io": dict.fromkeys(
        ("OLD", "NEW"),
        "some avg10=1.04 avg60=2.70 avg300=1.31 total=62764128\n"
        "full avg10=0.00 avg60=0.00 avg300=0.00 total=8233223\n",
    ),
    "memory": dict.fromkeys(
        ("OLD", "NEW"),
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
    ),
}


def values_of(source: Source) -> Any:
    """Of two readings of the same text, a second apart: every rate is 0, every gauge as it stands there."""
    return source.values(source.read(), source.read(), 1.0)


@pytest.fixture(params=["OLD", "NEW"])
def kernel(request, tmp_path: Path) -> tuple[str, Path]:
    """Which kernel it is, and the directory with its files."""
    for name, texts in FILES.items():
        (tmp_path / name).write_text(texts[request.param])
    return request.param, tmp_path


def test_cpu_time_is_read_with_and_without_the_later_columns(kernel):
    """A CPU that is offline (here 2) has no line."""
    name, directory = kernel
    values = values_of(cpu.CpuSource(directory / "stat"))
    assert [row["cpu"] for row in values["cpus"]] == ([0] if name == "OLD" else [0, 1, 3])
    assert (values["run_queue"], values["blocked"]) == ((3, 1) if name == "OLD" else (17, 0))
    assert {"context_switches_per_s", "interrupts_per_s", "forks_per_s"} < values.keys()


def test_available_memory_is_missing_where_the_kernel_does_not_estimate_it(kernel):
    """It is not zero."""
    name, directory = kernel
    values = values_of(memory.MemorySource(directory / "meminfo"))
    assert ("available_bytes" in values) is (name == "NEW")
    assert values["page_cache_bytes"] == (200 if name == "OLD" else 5_647_348) * 1024


def test_paging_has_the_same_names_on_both(kernel):
    """Also refaults, which were renamed."""
    assert set(values_of(paging.PagingSource(kernel[1] / "vmstat"))) == set(paging.COUNTERS.values())


def test_devices_are_read_however_their_names_are_set_off(kernel):
    """By the colon alone."""
    name, directory = kernel
    reading = devices.DeviceSource(directory / "dev").read()
    received, packets, *_ = reading["lo"]
    assert (received, packets) == ((37609870, 119196) if name == "OLD" else (376098700666, 119196356))
    assert len(reading["lo"]) == len(devices.COLUMNS)


def test_network_counters_that_a_kernel_lacks_are_left_out(kernel):
    """The others are there, on both."""
    name, directory = kernel
    values = values_of(network.NetworkSource(directory))
    assert {"listen_overflows_per_s", "listen_drops_per_s", "retransmits_per_s"} < values.keys()
    for later in ("syn_queue_drops_per_s", "syn_retransmits_per_s"):
        assert (later in values) is (name == "NEW")
    assert values["tcp_time_wait"] == (34 if name == "OLD" else 3706)
    assert [row["cpu"] for row in values["softnet"]] == [0, 1]


def test_softirqs_of_kinds_that_are_not_listed_are_left_out(kernel):
    """A CPU that did nothing is, too: here all rates are 0."""
    name, directory = kernel
    source = softirqs.SoftirqSource(directory / "softirqs")
    assert ("TIMER" in source.read()[0]) is (name == "NEW")
    assert ("NET_RX" in source.read()[0]) is (name == "OLD")
    assert values_of(source) == {"cpus": []}


def test_pressure_in_which_all_wait_for_the_cpu_is_missing_before_linux_5_13(kernel):
    """It is not zero."""
    name, directory = kernel
    values = values_of(pressure.PressureSource(directory))
    assert ("cpu_full" in values) is (name == "NEW")
    assert {"cpu_some", "io_some", "io_full", "memory_full"} <= values.keys()


# Linux 2.6.22: 42 columns, and no context switches in the status (they came with 2.6.23). NEW is cat's own.
STAT = {
    "OLD": "7 (cat) R 1 1 1 0 -1 4194304 102 0 3 0 5 6 0 0 20 0 1 0 650387 3133440 387 1844 1 2 3 4 5 0 0 \
0 0 "
    "0 0 0 17 0 0 0 0",
    "NEW": "11406 (cat) R 11390 11390 26051 0 -1 4194304 102 0 0 0 0 0 0 0 20 0 1 0 650387 3133440 387 "
    "18446744073709551615 94332390526976 94332390546857 140725499975744 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 "
    "94332390562864 94332390564480 94332608958464 140725499980484 140725499980498 140725499980498 "
    "140725499981803 0",
}
STATUS = {
    "OLD": "Name:\tcat\n",
    "NEW": "Name:\tcat\nvoluntary_ctxt_switches:\t0\nnonvoluntary_ctxt_switches:\t1\n",
}


def test_switches_of_a_process_are_missing_where_the_kernel_does_not_tell_them(kernel):
    """CPU time, faults, memory and moves are there, on both."""
    name, directory = kernel
    (directory / "7").mkdir()
    (directory / "7/stat").write_text(STAT[name])
    (directory / "7/status").write_text(STATUS[name])
    source = process.ProcessSource(directory, cpu_ns=lambda _pid: None)
    source.watch((7,))
    values = values_of(source)
    for later in ("waited_per_s", "preempted_per_s"):
        assert (later in values) is (name == "NEW")
    assert values["resident_bytes"] == 387 * process.PAGE_BYTES
    assert {"user", "system", "moved", "minor_faults_per_s", "major_faults_per_s"} < values.keys()


GROUPS = {
    # No refaults in version 1, and no count of kills.
    "version 1, Linux 4.9": (
        1,
        {
            "memory.stat": "cache 10\ntotal_cache 5000\ntotal_pgmajfault 7\n",
            "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\n",
            "memory.usage_in_bytes": "6000\n",
        },
        {"usage_bytes", "limit_bytes", "file_bytes", "major_faults_per_s"},
    ),
    "version 1, Linux 6.18": (
        1,
        {
            "memory.stat": "cache 10874880\nworkingset_refault_file 2152\ntotal_cache 5892263936\n"
            "total_workingset_refault_anon 0\ntotal_workingset_refault_file 756519\ntotal_pgmajfault 5435\n",
            "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n",
            "memory.usage_in_bytes": "6000000000\n",
        },
        None,
    ),
    # One counter of refaults until Linux 5.9.
    "version 2, Linux 4.19": (
        2,
        {
            "memory.stat": "anon 10\nfile 5000\npgmajfault 7\nworkingset_refault 9\n",
            "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n",
            "memory.current": "6000\n",
        },
        None,
    ),
    "version 2, Linux 6.1": (
        2,
        {
            "memory.stat": "anon 10\nfile 5000\npgmajfault 7\n"
            "workingset_refault_anon 1\nworkingset_refault_file 9\n",
            "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n",
            "memory.current": "6000\n",
        },
        None,
    ),
}
ALL_OF_A_GROUP = {
    "usage_bytes",
    "limit_bytes",
    "file_bytes",
    "file_refaults_per_s",
    "major_faults_per_s",
    "out_of_memory_kills",
}


@pytest.mark.parametrize("name", GROUPS)
def test_memory_groups_tell_what_their_kernel_counts(name, tmp_path):
    """Of both versions; a group whose kernel counts no refaults has none, and not zero of them."""
    version, files, expected = GROUPS[name]
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    source = MemoryGroupSource()
    source.watch(MemoryGroup(tmp_path, Controller(tmp_path, version), 10**10).read)
    assert set(values_of(source)) == (expected or ALL_OF_A_GROUP)
    assert source.read().file_bytes == (5892263936 if "6.18" in name else 5000)
