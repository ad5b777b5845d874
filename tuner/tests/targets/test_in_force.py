"""What a server runs with in place of what its file asks for, as its processes and its own words tell."""

import pytest
from trimtab_tuner.targets.in_force import differences, limit_of_descriptors, noted, noted_in

CORRECTED = (
    "AH00513: WARNING: MaxRequestWorkers of 3000 would require 120 servers and would exceed ServerLimit of 4"
)
APACHE = (
    f"[Fri Nov 27 09:00:00 2026] [warn] [pid 7] {CORRECTED}, decreasing to 100. To increase, please "
    "see the ServerLimit directive.\nAH00558: could not determine the server's name\n"
)
OF_PREFORK = (
    "AH00181: WARNING: MaxRequestWorkers of 300 exceeds ServerLimit value of 100 servers, decreasing "
    "MaxRequestWorkers to 100"
)


@pytest.mark.parametrize(
    ("target", "text", "asked"),
    [
        ("nginx", "worker_rlimit_nofile 65000;\n", ("worker_rlimit_nofile", 65_000, 0)),
        ("nginx", "# worker_rlimit_nofile 1;\nevents {}\n", None),
        ("lighttpd", "server.max-fds = 9\nserver.max-fds = 16384\n", ("server.max-fds", 16_384, 19)),
        ("apache", "ServerLimit 4\n", None),
    ],
)
def test_the_limit_that_a_file_sets_is_read(target, text, asked):
    """The last one counts, where it stands."""
    assert limit_of_descriptors(target, text) == asked


@pytest.mark.parametrize(
    ("target", "text", "descriptors", "log", "said"),
    [
        (
            "nginx",
            "worker_rlimit_nofile 65000;\n",
            4096,
            "",
            ("4,096 open files in place of worker_rlimit_nofile 65000: the system allows no more",),
        ),
        ("nginx", "worker_rlimit_nofile 65000;\n", 65_000, "", ()),
        ("nginx", "worker_rlimit_nofile 65000;\n", None, "", ()),
        (
            "nginx",
            "events { worker_connections 2048; }",
            1024,
            "2026/11/27 [warn] 7#7: 2048 worker_connections exceed open file resource limit: 1024\n" * 2,
            ("2048 worker_connections exceed open file resource limit: 1024",),
        ),
        (
            "apache",
            "",
            1024,
            APACHE,
            (f"{CORRECTED}, decreasing to 100",),
        ),
        (
            "apache",
            "",
            1024,
            f"[Fri Nov 27 09:00:00 2026] [core:warn] [pid 7] {OF_PREFORK}. To increase, please see the\n",
            (OF_PREFORK,),
        ),
    ],
)
def test_what_is_otherwise_is_told_once(target, text, descriptors, log, said):
    """Of limits by the processes, of numbers in the server's words; all else in its log is nothing."""
    assert differences(target, text, descriptors, log) == said


def test_notes_are_read_back_from_the_files_of_trials():
    """Each once, also of several instances; a text without stays as it was."""
    assert noted("events {}\n", ()) == "events {}\n"
    one, other = noted("a\n", ["x", "y"]), noted("b\n", ["y", "z"])
    assert one == "# In force: x\n# In force: y\na\n"
    assert noted_in((f"# replica 1\n{one}", other)) == ("x", "y", "z")
