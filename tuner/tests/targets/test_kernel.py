"""Knobs of the kernel: as this machine has them, freed where they can matter, as their files hold them."""

import pytest
from trimtab_tuner.space import SpaceError
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.kernel import (
    KERNEL_KNOBS,
    NAMES,
    file_values,
    kernel_knob,
    kernel_part,
    tunes_kernel,
    with_kernel,
    with_siblings,
    worth_freeing,
)
from trimtab_tuner.workloads.conditions import Conditions

CURRENT = {
    "tcp_congestion_control": "bbr",
    "tcp_notsent_lowat": 4_294_967_295,
    "tcp_wmem_min": 4096,
    "tcp_wmem_default": 16_384,
    "tcp_wmem_max": 4_194_304,
    "somaxconn": 4096,
    "swappiness": 60,
    "tcp_fin_timeout": 60,
}
CHOICES = {"tcp_congestion_control": ("reno", "bbr", "cubic")}
HERE = [kernel_knob(name).here(value, CHOICES.get(name, ())) for name, value in CURRENT.items()]
NGINX = TARGETS["nginx"].space(cpus=2)


def test_no_server_has_a_knob_of_the_same_name():
    """A configuration tells both apart by the name alone."""
    for target in TARGETS.values():
        own = {knob.name for knob in (*target.space(cpus=2).knobs, *target.tls_knobs)}
        assert own.isdisjoint(NAMES), target.name


def test_what_the_machine_is_set_to_is_the_default():
    """Also outside the range in which values are tried."""
    space = with_kernel(NGINX, HERE, free=("tcp_notsent_lowat",))
    assert kernel_part(space.default()) == CURRENT
    assert space.check(space.default())["tcp_notsent_lowat"] == 4_294_967_295
    assert [knob.name for knob in space.free if knob.name in NAMES] == ["tcp_notsent_lowat"]
    assert tunes_kernel(space)
    assert not tunes_kernel(with_kernel(NGINX, HERE, free=()))


def test_a_buffer_begins_with_no_more_than_it_may_grow_to():
    """The kernel would not refuse it."""
    space = with_kernel(NGINX, HERE, free=("tcp_wmem_default", "tcp_wmem_max"))
    with pytest.raises(SpaceError, match="tcp_wmem_default"):
        space.check({**space.default(), "tcp_wmem_default": 1 << 20, "tcp_wmem_max": 1 << 17})


def test_knobs_are_freed_where_they_can_matter():
    """Memory where it is short, the accept queue where a server asks for a longer one, some by name only."""
    usual = worth_freeing(NGINX, HERE, Conditions())
    assert usual == {"tcp_congestion_control", "tcp_notsent_lowat", "tcp_wmem_default", "tcp_wmem_max"}
    assert worth_freeing(NGINX, HERE, Conditions(memory="heavy-io")) - usual == {"swappiness"}
    assert "somaxconn" in worth_freeing(TARGETS["h2o"].space(cpus=2), HERE, Conditions())


def test_sizes_of_one_file_come_together():
    """Whoever asks for one gets all three, and the file holds them in its order."""
    names = with_siblings({"tcp_wmem_max"})
    assert names == {"tcp_wmem_min", "tcp_wmem_default", "tcp_wmem_max"}
    places = {name: (kernel_knob(name).path,) for name in names}
    values = file_values({"tcp_wmem_max": 65_536, "tcp_wmem_min": 4096, "tcp_wmem_default": 8192}, places)
    assert values == {"/proc/sys/net/ipv4/tcp_wmem": "4096 8192 65536"}


def test_a_knob_of_several_files_is_set_in_all_of_them():
    """A governor belongs to each policy."""
    policies = ("/sys/a/policy0/scaling_governor", "/sys/a/policy4/scaling_governor")
    values = file_values({"scaling_governor": "performance", "workers": 2}, {"scaling_governor": policies})
    assert values == dict.fromkeys(policies, "performance")


@pytest.mark.parametrize("knob", KERNEL_KNOBS, ids=lambda knob: knob.name)
def test_every_knob_reads_what_its_file_holds(knob):
    """Numbers as numbers, words as words, sizes each at its place."""
    text = "1 22 333" if knob.part is not None else "7" if knob.knob.kind == "integer" else "word"
    assert (
        knob.value_in(text)
        == {None: 7 if knob.knob.kind == "integer" else "word", 0: 1, 1: 22, 2: 333}[knob.part]
    )
