"""Where programs of the system are found."""

from trimtab_agent.station.processes import programs
from trimtab_agent.station.processes.programs import find_installed
from trimtab_agent.station.server.checking import check_file
from trimtab_tuner.exports import Check
from trimtab_tuner.targets.backends import BACKENDS
from trimtab_tuner.targets.backends.base import BackendContext


def test_newest_of_several_versions_is_found(tmp_path, monkeypatch):
    """By number and not by letter; what only begins alike is another program."""
    for name in ("pool7.4", "pool8.2", "pool8.10", "pool8.9-helper", "pools9"):
        program = tmp_path / name
        program.touch(mode=0o755)
    monkeypatch.setattr(programs, "SYSTEM_PROGRAMS", tmp_path)
    assert find_installed("pool") == tmp_path / "pool8.10"
    (tmp_path / "pool").touch(mode=0o755)
    assert find_installed("pool") == tmp_path / "pool"
    assert find_installed("pond") is None


def test_exported_pool_is_accepted_by_php_fpm_whoever_checks_it(tmp_path):
    """Its program has a version in its name, and root's pools name whom they become."""
    php = BACKENDS["php"]
    context = BackendContext(
        address=str(tmp_path / "php.sock"),
        directory=str(tmp_path),
        prefix=str(tmp_path),
        error_log=str(tmp_path / "log"),
        user="www-data",
    )
    file = tmp_path / php.file_name
    file.write_text(php.render({knob.name: knob.default for knob in php.knobs}, context))
    check = Check(php.package, lambda path, program: php.check_command(path, program or php.package))
    command, accepted, said = check_file(check, file, tmp_path / "trimtab-httpd")
    assert accepted, said
    assert command.startswith("/usr/sbin/php-fpm")
