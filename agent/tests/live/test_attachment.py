"""What an administrator makes of a server's file is seen, however it is done."""

from contextlib import closing
from dataclasses import replace

from trimtab_agent.live import attachment
from trimtab_agent.live.attachment import Attachment
from trimtab_agent.live.its_file import read_its_file
from waiting import until


def test_link_in_place_of_the_file_that_leads_elsewhere_is_a_change(production, monkeypatch, tmp_path):
    """As a whole configuration is put into force at once."""
    monkeypatch.setattr(attachment, "LOOK_EVERY_S", 0.0)
    server = production("core")
    link, other = tmp_path / "current", tmp_path / "other.conf"
    link.symlink_to(server.file)
    other.write_text(server.file.read_text() + "workers = 2\n")
    seen = replace(server.seen, file=link)
    with closing(Attachment(seen, read_its_file(seen), 1.0)) as attached:
        assert attached.changed() == ""
        (tmp_path / "new").symlink_to(other)
        (tmp_path / "new").replace(link)
        until(lambda: attached.changed() == f"{link} is {other} now")
        attached.read_anew()
        assert (attached.base.path, attached.changed()) == (str(other), "")
