"""What is not closed is told with its place; what the servers accept never is."""

import pytest
from trimtab_tuner.checking.unclosed import Unclosed, unclosed
from trimtab_tuner.targets import TARGETS

TOLD = {
    "section left open": ("apache", ["Listen 80\n\n<VirtualHost *:80>\n"], (0, 3)),
    "section that is closed too often": ("apache", ["</Files>\n"], (0, 1)),
    "sections across each other": ("apache", ["<VirtualHost *:80>\n<If 1>\n</VirtualHost>\n</If>\n"], (0, 2)),
    "across a condition": ("apache", ["<IfModule a>\n<If 1>\n</IfModule>\n</If>\n"], (0, 2)),
    "condition inside": ("apache", ["<If 1>\n<IfModule a>\n"], (0, 1)),
    "macro left open": ("apache", ["<Macro m>\nListen 80\n"], (0, 1)),
    "head without its end": ("apache", ["<VirtualHost *:80\n</VirtualHost>\n"], (0, 1)),
    "included file": ("apache", ["Include a\n</If>\n", "\n<If 1>\n"], (0, 2)),
    "included file alone": ("apache", ["Include a\n", "\n<If 1>\n"], (1, 2)),
    "list": ("lighttpd", ["a.b = (\n"], (0, 1)),
    "list in a list": ("lighttpd", ['a.b = ( "c" =>\n( "d",\n)\n'], (0, 1)),
    "list that is closed too often": ("lighttpd", ['a.b = "c" )\n'], (0, 1)),
    "block": ("lighttpd", ['\n$HTTP["a"] == "b" {\n  c.d = 1\n'], (0, 2)),
    "inner block": ("lighttpd", ['$HTTP["a"] == "b" {\n} else $HTTP["a"] == "c" {\n'], (0, 2)),
    "string": ("lighttpd", ['a.b = "c\n'], (0, 1)),
    "string that goes on to the next": ("lighttpd", ['a.b = "c\nd.e = "f"\n'], (0, 1)),
    "quote behind two backslashes": ("lighttpd", ['a.b = "c\\\\"\n'], (0, 1)),
    "included file of lighttpd": ("lighttpd", ['include "a"\n', "\na.b = (\n"], (1, 2)),
}
PASSED = {
    "condition at the end": ("apache", ["<IfDefine A>\nListen 80\n"]),
    "section in a condition at the end": ("apache", ["<IfModule mpm_event_module>\n<VirtualHost *:80>\n"]),
    "section that a macro opens": ("apache", ["<Macro m>\n<If 1>\n</Macro>\nUse m\n</If>\n"]),
    "section that a macro closes": ("apache", ["<Macro m>\n</If>\n</Macro>\n<If 1>\nUse m\n"]),
    "macro of any text": ("apache", ["<Macro m $a>\n<$a>\n</Macro>\n"]),
    "section with a variable as its name": ("apache", ["<${A} *:80>\n</VirtualHost>\n"]),
    "code of a module": ("apache", ["<Perl>\nprint <STDIN>;\n</Perl>\n"]),
    "behind the end of the file": ("apache", ["Listen 80\n__END__\n<If 1>\n"]),
    "other case": ("apache", ["<virtualHost *:80> # a\n</VIRTUALHOST> # b\n"]),
    "remark that goes on": ("apache", ["# a \\\n<If 1>\n"]),
    "sign in quotes": ("apache", ['<Files "a>b">\n</Files>\n']),
    "file that may not be read": ("apache", ["<IfDefine A>\nInclude a\n</IfDefine>\n", "<If 1>\n"]),
    "list over lines": ("lighttpd", ['a.b = ( # ( "\n"c",\n)\n']),
    "brackets in strings": ("lighttpd", ['$HTTP["a"] =~ "^(b{1}|c" {\n d.e = "\\"(" }\n']),
    "string over lines": ("lighttpd", ['a.b = "c\nd"\n']),
    "block without a head": ("lighttpd", ["{\na.b = (\n"]),
    "brace that closes nothing": ("lighttpd", ["}\na.b = (\n"]),
    "brace in a setting": ("lighttpd", ["a.b {= (\n"]),
    "else": ("lighttpd", ['$HTTP["a"] == "b" {\n}\nelse {\n}\nglobal {\n}\n']),
}


@pytest.mark.parametrize(("name", "texts", "place"), TOLD.values(), ids=TOLD)
def test_what_is_not_closed_is_told_with_its_file_and_line(name, texts, place):
    """Where it begins: there somebody has forgotten it."""
    found = unclosed(TARGETS[name], texts)
    assert isinstance(found, Unclosed)
    assert found[:2] == place


@pytest.mark.parametrize(("name", "texts"), PASSED.values(), ids=PASSED)
def test_what_the_server_may_accept_is_not_told(name, texts):
    """However odd it looks."""
    assert unclosed(TARGETS[name], texts) is None


def test_languages_that_are_read_otherwise_are_left_to_their_readers():
    """They refuse such files themselves."""
    assert unclosed(TARGETS["nginx"], ["http {"]) is None
