"""Which workload a run gets: one that comes with Trimtab, one of the user's own, or one from a file.

The user's own definitions lie in `var/workloads/NAME.toml`; a name there goes before the same name among
those that come with Trimtab.  The command line also takes the path of a file.  The API does not: whoever may
start a run may not therefore read the host's files, so it takes names, or a whole definition in the request.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trimtab_tuner.wording import counted
from trimtab_tuner.workloads import WORKLOADS, Workload
from trimtab_tuner.workloads.definition import Definition, DefinitionError, read_definition
from trimtab_tuner.workloads.drawn import DrawnWorkload
from trimtab_tuner.workloads.learning import steadier_than_poisson
from trimtab_tuner.workloads.learnt import LearntWorkload, ModelError, pack, unpack
from trimtab_tuner.workloads.parameters import WorkloadParameters
from trimtab_tuner.workloads.shop_workload import ShopWorkload

from trimtab_agent.errors import SpecError

# What a learnt workload is called if nobody calls it otherwise.
LEARNT_NAME = "access-log"


def is_path(text: str) -> bool:
    """Whether what was given for a workload is a file and not a name."""
    return "/" in text or text.endswith(".toml")


def find_definition(name: str, own: Path | None) -> Definition:
    """The definition of that name; `own` is the folder of the user's. Raises SpecError."""
    names = dict.fromkeys([*WORKLOADS, *(path.stem for path in _own_files(own))])
    if name not in names:
        hint = "; `trimtab workload learn` makes it from your access logs" if name == LEARNT_NAME else ""
        raise SpecError("workload", f"workload = {name!r}: expected one of {', '.join(names)}{hint}")
    for path in _own_files(own):
        if path.stem == name:
            return read_definition_file(path)
    return WORKLOADS[name]


def all_definitions(own: Path | None) -> Iterator[tuple[Definition, Path | None]]:
    """Every definition that can be named, with its file if it is the user's own.

    A file of the user's that is no definition is left out here; naming it says what is wrong with it.
    """
    found: dict[str, tuple[Definition, Path | None]] = {
        name: (definition, None) for name, definition in WORKLOADS.items()
    }
    for path in _own_files(own):
        try:
            found[path.stem] = (read_definition_file(path), path)
        except SpecError:
            continue
    yield from found.values()


def with_conditions(definition: Definition, **asked: str | None) -> Definition:
    """The definition under other conditions, by name and known to be good; None leaves its own."""
    update = {name: value for name, value in asked.items() if value is not None}
    return definition.model_copy(update={"conditions": definition.conditions.model_copy(update=update)})


def make_workload(parameters: WorkloadParameters, own: Path | None = None) -> Workload:
    """The workload with these parameters; `own` is the folder of the user's, where models lie.

    Raises SpecError when what was learnt from a log is not there any more.
    """
    definition = parameters.definition
    if definition.learnt is not None:
        return LearntWorkload(definition.name, read_model(definition, own), time_scale=parameters.time_scale)
    if definition.shop is not None:
        return ShopWorkload(definition.name, definition.shop, parameters.seed, parameters.time_scale)
    return DrawnWorkload(definition, seed=parameters.seed, time_scale=parameters.time_scale)


def written_by_hand(name: str, own: Path) -> Path | None:
    """The user's own definition of that name, if it is none that was learnt: nobody learns it again."""
    file = own / f"{name}.toml"
    try:
        return None if not file.exists() or read_definition_file(file).learnt is not None else file
    except SpecError:
        return file


def save_learnt(name: str, model: dict[str, Any], page: str, own: Path) -> Path:
    """Writes a learnt workload of that name to the user's folder; returns the path of its definition.

    Raises OSError.
    """
    facts = model["facts"]
    model_name = save_model(model, own)
    _write_whole(own / f"{name}.md", page.encode())
    definition = own / f"{name}.toml"
    _write_whole(
        definition,
        LEARNT_DEFINITION.format(
            name=name,
            learnt=", ".join(counted(facts[f"{noun}s"], noun) for noun in ("session", "request", "file")),
            model=model_name,
            files=facts["files"],
            file_set_bytes=facts["file_set_bytes"],
            arrivals="deterministic" if steadier_than_poisson(facts["arrival_dispersion"]) else "poisson",
        ).encode(),
    )
    return definition


def save_model(model: dict[str, Any], own: Path) -> str:
    """Writes a model to the user's folder; returns its name. Raises OSError."""
    name, packed = pack(model)
    _models(own).mkdir(parents=True, exist_ok=True)
    _write_whole(_models(own) / f"{name}.json.gz", packed)
    return name


LEARNT_DEFINITION = """\
# Written by `trimtab workload learn`; {name}.md beside it says what was learnt.
name = "{name}"
help = "Learnt from an access log: {learnt}."

[learnt]
model = "{model}"
files = {files}
file_set_bytes = {file_set_bytes}

[clients]
arrivals = "{arrivals}"
"""


def read_model(definition: Definition, own: Path | None) -> dict[str, Any]:
    """The model of a definition that is learnt; `own` is the folder of the user's. Raises SpecError."""
    assert definition.learnt is not None  # noqa: S101 - who asks has looked
    name, model = definition.name, definition.learnt.model
    file = _models(own) / f"{model}.json.gz" if own is not None else None
    try:
        packed = file.read_bytes() if file is not None else None
    except OSError:
        packed = None
    if packed is None:
        raise SpecError(
            "workload",
            f"workload = {name!r}: what was learnt from its log is not in {file or 'var/workloads'}; "
            "`trimtab workload learn` learns it again",
        )
    try:
        return unpack(model, packed)
    except ModelError as error:
        raise SpecError("workload", f"workload = {name!r}: {error}") from error


def _models(own: Path) -> Path:
    return own / "models"


def _write_whole(path: Path, content: bytes) -> None:
    """Writes a file so that it is there whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    part.replace(path)


def _own_files(own: Path | None) -> list[Path]:
    return sorted(own.glob("*.toml")) if own is not None else []


def read_definition_file(path: Path) -> Definition:
    """The definition in a file of the user's; raises SpecError."""
    try:
        return read_definition(path)
    except DefinitionError as error:
        raise SpecError("workload", str(error)) from error
