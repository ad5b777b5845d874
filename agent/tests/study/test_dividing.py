"""Whether a calibration divides the CPUs anew."""

import pytest
from trimtab_agent.host.cpu_layout import CpuLayout
from trimtab_agent.host.topology import Cpu
from trimtab_agent.study.dividing import divided_anew
from trimtab_trials.measurement import Measurement

FOUR = tuple(Cpu(cpu=cpu, core=cpu, socket=0, node=0, siblings=(cpu,)) for cpu in range(4))
ONE_GENERATES = CpuLayout(server=(0, 1, 2), generator=(3,))
TWO_GENERATE = CpuLayout(server=(0, 1), generator=(2, 3))


def measured(rate_rps, *, replies_rps, generator_share, server_percent):
    """A rate at which the server's processes used so much of one CPU."""
    return Measurement(
        rate_rps=rate_rps,
        goodput_mbps=1.0,
        reply_rate_rps=replies_rps,
        health={} if generator_share is None else {"cpu_share": generator_share},
        counters={"server_processes": {"user": 0.25 * server_percent, "system": 0.75 * server_percent}},
    )


LOW = measured(1000, replies_rps=1000, generator_share=0.1, server_percent=15)
KNEE = measured(9000, replies_rps=9000, generator_share=0.9, server_percent=150)
FULL = measured(20000, replies_rps=9500, generator_share=1.0, server_percent=160)
HEAVY = measured(900, replies_rps=900, generator_share=0.1, server_percent=200)
OVERLOADED = measured(1400, replies_rps=950, generator_share=0.15, server_percent=200)


def test_generator_that_was_the_limit_gets_what_it_needed_at_the_highest_rate_that_was_followed():
    """0.9 of one CPU beside one and a half of three: with a fifth more that is two of four cores."""
    layout = divided_anew(ONE_GENERATES, FOUR, [LOW, KNEE, FULL])
    assert (layout.server, layout.generator) == ((0, 1), (2, 3))
    assert "used 0.9 CPUs while the server used 1.5" in layout.reason


def test_calibration_that_followed_no_rate_goes_by_its_highest():
    """The generator gave out at the first one."""
    assert divided_anew(ONE_GENERATES, FOUR, [FULL]).generator == (2, 3)


def test_generator_that_was_the_limit_for_another_reason_keeps_what_it_has():
    """It came late, or had no ports, though its CPUs were idle."""
    assert divided_anew(TWO_GENERATE, FOUR, [HEAVY, OVERLOADED]) is None


@pytest.mark.parametrize(
    "measurements",
    [
        (),
        (measured(9000, replies_rps=9000, generator_share=None, server_percent=150),),
        (Measurement(rate_rps=1.0, goodput_mbps=1.0, reply_rate_rps=1.0, health={"cpu_share": 1.0}),),
    ],
)
def test_nothing_is_divided_by_what_was_not_counted(measurements):
    """No measurement at all, no share of the generator, or no processes of the server."""
    assert divided_anew(ONE_GENERATES, FOUR, measurements) is None
