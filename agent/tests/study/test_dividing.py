"""Whether a calibration divides the CPUs anew."""

from trimtab_agent.host.cpu_layout import CpuLayout
from trimtab_agent.host.topology import Cpu
from trimtab_agent.study.dividing import divided_anew
from trimtab_trials.measurement import Measurement

FOUR = tuple(Cpu(cpu=cpu, core=cpu, socket=0, node=0, siblings=(cpu,)) for cpu in range(4))
LAYOUT = CpuLayout(server=(0, 1, 2), generator=(3,))


def measured(rate_rps, *, replies_rps, generator_share, idle_percent):
    """A rate at which each of the server's CPUs was idle for so long."""
    states = {"user": 99.0 - idle_percent, "iowait": 1.0, "idle": idle_percent}
    return Measurement(
        rate_rps=rate_rps,
        goodput_mbps=1.0,
        reply_rate_rps=replies_rps,
        health={} if generator_share is None else {"cpu_share": generator_share},
        counters={"cpu": {"cpus": [{"cpu": cpu, **states} for cpu in range(4)]}},
    )


def test_highest_rate_that_was_followed_tells_what_each_needs():
    """0.9 of one CPU beside half of three: with a fifth more that is two of four cores."""
    layout = divided_anew(
        LAYOUT,
        FOUR,
        [
            measured(1000, replies_rps=1000, generator_share=0.1, idle_percent=98),
            measured(9000, replies_rps=9000, generator_share=0.9, idle_percent=49),
            measured(20000, replies_rps=9500, generator_share=1.0, idle_percent=0),
        ],
    )
    assert (layout.server, layout.generator) == ((0, 1), (2, 3))
    assert "used 0.9 CPUs while the server used 1.5" in layout.reason


def test_calibration_that_followed_no_rate_goes_by_its_highest():
    """The generator gave out at the first one."""
    layout = divided_anew(
        LAYOUT, FOUR, [measured(20000, replies_rps=9500, generator_share=1.0, idle_percent=49)]
    )
    assert layout.generator == (2, 3)


def test_nothing_is_divided_by_what_was_not_counted():
    """No share of the generator, no counters of the server's CPUs, or no measurement at all."""
    silent = measured(9000, replies_rps=9000, generator_share=None, idle_percent=49)
    elsewhere = CpuLayout(server=(7, 8), generator=(3,))
    told = measured(9000, replies_rps=9000, generator_share=0.9, idle_percent=49)
    assert divided_anew(LAYOUT, FOUR, [silent]) is None
    assert divided_anew(elsewhere, FOUR, [told]) is None
    assert divided_anew(LAYOUT, FOUR, []) is None
