"""What a workload of files leaves out of a file that hands requests on, and which workload measures that."""

import pytest
from trimtab_agent.base_file import read_base
from trimtab_agent.study.own_file_report import nothing_handed_on
from trimtab_tuner.targets import TARGETS

ALL = "this workload asks for files, and nothing of what your file hands on to "
PHP = f"{ALL}unix:/run/php.sock; --workload php measures PHP behind a server"
PROXY = f"{ALL}10.0.0.1:80; --workload proxy measures handing on"


FASTCGI = """\
events {}
http { upstream app { server unix:/run/php.sock; }
server { location / { fastcgi_pass app; } } }
"""
BOTH = """\
events {}
http { upstream app { server 10.0.0.1:80; }
server { location / { proxy_pass http://app; } location /b { fastcgi_pass unix:/run/php.sock; } } }
"""


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("nginx", FASTCGI, [PHP]),
        ("nginx", BOTH, [f"{PROXY} (--upstream NAME=measured with your upstream's times)", PHP]),
        ("apache", "Listen 80\nProxyPass / http://10.0.0.1/\n", [PROXY]),
        ("nginx", "events {}\nhttp { server { root /srv; } }\n", []),
    ],
)
def test_upstream_is_told_with_the_workload_that_is_for_its_kind(tmp_path, name, text, told):
    """FastCGI is no business of the workload `proxy`."""
    file = tmp_path / TARGETS[name].file_name
    file.write_text(text)
    assert list(nothing_handed_on(TARGETS[name], read_base(TARGETS[name], file))) == told
