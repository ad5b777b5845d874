"""What `trimtab check` refuses as not closed, the servers refuse: both look at many small files."""

import random
import subprocess

import pytest
from trimtab_agent.station.processes.programs import find_installed
from trimtab_tuner.checking.unclosed import unclosed
from trimtab_tuner.targets import TARGETS

FILES = 120
MODULES = "/usr/lib/apache2/modules"
APACHE = f"""ServerRoot DIR
ServerName a
PidFile DIR/pid
ErrorLog DIR/error.log
LoadModule mpm_event_module {MODULES}/mod_mpm_event.so
LoadModule authz_core_module {MODULES}/mod_authz_core.so
LoadModule macro_module {MODULES}/mod_macro.so
Listen 127.0.0.1:8099
Define A
"""
LINES = (
    "<IfDefine A>", "<IfDefine B>", "</IfDefine>", "<IfModule macro_module>", "</IfModule>", "<Files a>",
    "</Files>", "<VirtualHost *:81>", "</virtualhost> # a", "<Macro m>", "</Macro>", "Use m",
    "# <Files x> \\", '<If "true">', "</If>", "<Files x", "Timeout 5",
)  # fmt: skip
LIGHTTPD = """server.document-root = "DIR"
server.port = 8099
server.modules = (
  "mod_access", # a ( b
)
$HTTP["host"] == "x" {
  url.access-deny = ( "~", ".inc\\" {" )
} else $HTTP["host"] == "y" {
  var.a = "a" + "b\\\\c"
}
global { var.b = ( ( "a" => 1 ), ( "b" => ( 2, 3 ) ) ) }
"""
SIGNS = '(){}"\\#\n'


def small_apache(chance: random.Random) -> str:
    """A few lines of sections in any order."""
    some = chance.sample(LINES, chance.randint(3, 8))
    return APACHE + "".join(f"{chance.choice(some)}\n" for _ in range(chance.randint(1, 7)))


def small_lighttpd(chance: random.Random) -> str:
    """The file with one to three signs too many or too few."""
    text = LIGHTTPD
    for _ in range(chance.choice((1, 1, 2, 3))):
        place = chance.choice([at for at, sign in enumerate(text) if sign in SIGNS])
        added = chance.choice(("", chance.choice(SIGNS)))
        text = text[:place] + added + text[place + (not added) :]
    return text


@pytest.mark.parametrize(("name", "small"), [("apache", small_apache), ("lighttpd", small_lighttpd)])
def test_no_file_that_its_server_accepts_is_refused(name, small, tmp_path):
    """Of those that it refuses, most are."""
    target = TARGETS[name]
    program = find_installed(target.program)
    if program is None:
        pytest.skip(f"{target.program} is not installed")
    chance = random.Random(7)
    file = tmp_path / target.file_name
    wrongly, rightly = [], 0
    for _ in range(FILES):
        text = small(chance).replace("DIR", str(tmp_path))
        file.write_text(text)
        asked = target.check_command(str(file), str(program))
        accepted = subprocess.run(asked, capture_output=True, check=False).returncode == 0
        if unclosed(target, [text]) is not None:
            wrongly += [text] if accepted else []
            rightly += not accepted
    assert not wrongly
    assert rightly > FILES / 3
