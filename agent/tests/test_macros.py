"""Sites that an apache2.conf has by macros: measured as they are, and handed back as macros."""

import pytest
from trimtab_agent.base_file import read_base, refuse
from trimtab_agent.checked_file import checked
from trimtab_agent.errors import SpecError
from trimtab_agent.study.asked_space import NOWHERE
from trimtab_agent.study.run_spec import KnobSpec, RunSpec
from trimtab_agent.study.specification import check
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.editing import own_values
from trimtab_tuner.targets.told import Told

APACHE = TARGETS["apache"]
MAIN = """\
LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule macro_module modules/mod_macro.so
Listen 80
KeepAliveTimeout 5
Include macros.conf
<IfModule mod_ssl.c>
  Use Site a.example /srv/a\r
</IfModule>
Use Site b.example /srv/b
"""
MACROS = """\
<Macro Root $folder>
  DocumentRoot $folder
  Include more.conf
</Macro>
<Macro Site $name $folder>
  <VirtualHost *:80>
    ServerName $name
    Use Root $folder/web
    CustomLog /var/log/$name.log combined
    {}
  </VirtualHost>
</Macro>
"""


@pytest.fixture
def main(tmp_path):
    """The main file; its macros lie in another one."""
    (tmp_path / "macros.conf").write_text(MACROS.format("MaxKeepAliveRequests 77"))
    (tmp_path / "more.conf").write_text("FileETag None\n")
    file = tmp_path / "apache2.conf"
    file.write_bytes(MAIN.encode())
    return file


def test_sites_of_macros_are_measured_as_what_they_stand_for(main):
    """In macros of macros and with what those include; addresses and logs are those of a trial."""
    base = read_base(APACHE, main)
    measured = APACHE.private(base.expanded, own_values(APACHE, base.expanded, 1), (), NOWHERE)
    for name in ("a", "b"):
        assert f"ServerName {name}.example" in measured
        assert f"DocumentRoot /srv/{name}/web" in measured
    assert measured.count("FileETag None") == 3  # the site of the workload is made of the first
    assert "<VirtualHost *:80>" not in measured.partition("</Macro>\n<Macro")[2].partition("</Macro>")[2]
    own_site = measured.rpartition("<VirtualHost")[0]
    assert "\nUse " not in own_site.replace("  Use Root", "")


def test_only_the_tuned_line_differs_in_what_is_handed_back(main):
    """Uses and definitions stay, byte by byte, and so does every other file."""
    base = read_base(APACHE, main)
    tuned = {**own_values(APACHE, base.expanded, 1), "KeepAliveTimeout": 9}
    texts = base.sources.apart(APACHE.changed(base.sources.marked, tuned, ["KeepAliveTimeout"], NOWHERE))
    assert texts[str(main)] == MAIN.replace("KeepAliveTimeout 5", "KeepAliveTimeout 9")
    assert texts[str(main.parent / "macros.conf")] == MACROS.format("MaxKeepAliveRequests 77")


def test_setting_in_a_macro_is_not_tuned_there_and_that_is_said(main):
    """All sites set it alike, so that it takes effect only in them."""
    knobs = {"MaxKeepAliveRequests": KnobSpec(low=50, high=100)}
    with pytest.raises(SpecError) as refusal:
        check(RunSpec(target="apache", base=str(main), knobs=knobs))
    assert refusal.value.sentence == (
        f"{main}: what is tuned is set in the macro of Use Site a.example /srv/a; expected it outside of "
        "macros, or left as it is (--keep MaxKeepAliveRequests)"
    )
    check(RunSpec(target="apache", base=str(main)))  # what is tuned without being asked for stands elsewhere


def test_finding_in_a_macro_is_told_at_the_use_with_the_line_of_the_macro(main):
    """The definition says nothing of which use it is about."""
    (main.parent / "macros.conf").write_text(MACROS.format("ErrorLog /nowhere/$name.log"))
    found = [each for each in checked(APACHE, main) if each.rule == "log-folder-missing"]
    assert [(each.file, each.line, each.evidence[-1]) for each in found] == [
        (str(main), 7, "line 5 of the macro of Use Site a.example /srv/a"),
        (str(main), 9, "line 5 of the macro of Use Site b.example /srv/b"),
    ]


def test_place_in_a_macro_of_a_macro_names_both(main):
    """And what such a macro includes stands in its own file."""
    sources = read_base(APACHE, main).sources
    lines = [line.strip() for line in sources.whole.splitlines()]
    root = lines.index("DocumentRoot /srv/a/web") + 1
    assert sources.place(root) == (str(main), 7)
    assert sources.inside(root) == (
        "line 1 of the macro of Use Root /srv/a/web, in line 3 of the macro of Use Site a.example /srv/a"
    )
    included = lines.index("FileETag None") + 1
    assert (sources.place(included), sources.inside(included)) == ((str(main.parent / "more.conf"), 1), "")


def test_lines_behind_a_use_over_several_lines_are_counted_as_they_stand(main):
    """A backslash takes the next line with it."""
    main.write_text(MAIN.replace("Use Site b", "Use Site \\\n  b") + "Timeout 9\n")
    sources = read_base(APACHE, main).sources
    assert sources.place(sources.whole.splitlines().index("Timeout 9") + 1) == (str(main), 11)


def test_finding_in_a_command_s_output_is_told_at_the_line_that_runs_it(tmp_path):
    """There is no file of that name to look into."""
    file = tmp_path / "lighttpd.conf"
    file.write_text('server.document-root = "/srv"\ninclude_shell "echo server.max-worker = 500"\n')
    with pytest.raises(SpecError, match=r"lighttpd.conf:2: .*line 1 of the output of echo"):
        refuse(Told("refused", 2, "so"), read_base(TARGETS["lighttpd"], file, with_commands=True))


def test_macro_that_uses_itself_is_refused(main):
    """Apache refuses it too."""
    main.write_text("Listen 80\n<Macro A $x>\nUse A b$x\n</Macro>\nUse A c\n")
    with pytest.raises(SpecError, match=r"the macro of Use A b+c: expected at most 16 in a row"):
        read_base(APACHE, main)


def test_what_an_included_text_that_is_no_file_sets_is_not_tuned(tmp_path):
    """Though the value that it has is the one that the run begins with."""
    file = tmp_path / "lighttpd.conf"
    told = "echo server.max-connections = 500"
    file.write_text(f'server.document-root = "/srv"\ninclude_shell "{told}"\n')
    with pytest.raises(SpecError, match=f"set in the output of {told}; .* as it is .--keep server.max-conn"):
        check(RunSpec(target="lighttpd", base=str(file)))
    check(RunSpec(target="lighttpd", base=str(file), keep=("server.max-connections",)))
