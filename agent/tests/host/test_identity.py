"""A machine keeps its id, and does not give away the one it has for itself."""

import re

import pytest
from trimtab_agent.errors import HostError
from trimtab_agent.host.identity import describe_host, machine_id

OWN = "0123456789abcdef0123456789abcdef"


def test_id_is_made_from_the_machines_own_and_is_not_it(tmp_path):
    """Whoever reads the database learns nothing that machine-id(5) asks to be kept."""
    (tmp_path / "machine-id").write_text(OWN + "\n")
    made = machine_id(tmp_path / "var", tmp_path / "machine-id")
    assert re.fullmatch("[0-9a-f]{32}", made)
    assert made != OWN
    assert made == machine_id(tmp_path / "another", tmp_path / "machine-id")
    assert not (tmp_path / "var").exists()


@pytest.mark.parametrize("text", [None, "", "uninitialized\n"])
def test_machine_without_an_id_gets_one_that_it_keeps(tmp_path, text):
    """As in a container, whose image must not make all of them one machine."""
    if text is not None:
        (tmp_path / "machine-id").write_text(text)
    first = machine_id(tmp_path / "var", tmp_path / "machine-id")
    assert first == machine_id(tmp_path / "var", tmp_path / "machine-id")
    assert first != machine_id(tmp_path / "another", tmp_path / "machine-id")
    assert [path.name for path in (tmp_path / "var").iterdir()] == ["machine-id"]


def test_who_only_looks_draws_no_id(tmp_path):
    """There is none then; one that is kept already is shown."""
    own, var = tmp_path / "machine-id", tmp_path / "var"
    assert machine_id(var, own, keep=False) == ""
    assert not var.exists()
    assert machine_id(var, own) == machine_id(var, own, keep=False)


def test_kept_id_that_is_none_is_refused_with_the_way_out(tmp_path):
    """To draw another one silently would make all that is recorded somebody else's."""
    (tmp_path / "machine-id").write_text("my machine")
    with pytest.raises(HostError, match="expected 32 hexadecimal digits; remove it"):
        machine_id(tmp_path, tmp_path / "nowhere")


def test_host_is_described_with_what_tells_it_apart(tmp_path):
    """Its id, CPUs and memory."""
    host = describe_host(tmp_path)
    assert re.fullmatch("[0-9a-f]{32}", host.machine_id)
    assert host.cpus >= len(host.topology["cpus"]) >= 1
    assert host.memory_bytes > 0
