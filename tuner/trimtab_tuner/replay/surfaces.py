"""Recorded surfaces: configurations with what they scored, to try strategies on instead of servers.

A file of surfaces is JSON: `source` and `unit` (texts), and `surfaces`, each with

`id`, `server`, `sendfile`, `workload`
    What was tuned. `server` and `workload` together name the group that is left out when a search on one
    surface learns from the others.
`axes`
    The knobs' names.
`cells`
    One object per trial: a value for each axis and `area`, the score, or null if it failed verification. A
    configuration that occurs twice was measured twice; its score is the mean.

A table may give `knobs` (the values of each axis) and `values` (nested lists in the order of `axes`) instead
of `cells`. The surfaces that come with Trimtab are the tuning tables of A. Harji, Performance Comparison of
Uniprocessor and Multiprocessor Web Server Architectures, PhD thesis, University of Waterloo 2010 (chapters 3
and 4): single tables, and coarse and fine ones of the same server and workload merged.
"""

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from trimtab_trials.configuration import Configuration, Value
from trimtab_trials.trial import Trial, Verdict

from trimtab_tuner.roles import Role
from trimtab_tuner.space import Knob, ListedSpace, Space
from trimtab_tuner.strategies.past_runs import PastRun

# What axes are called in the thesis' tables and by the core target: the role, and for ties the KiB of memory
# per unit as in the core target.
AXES = {
    "processes": (Role.WORKERS, 1100.0),
    "workers": (Role.WORKERS, 1100.0),
    "max_connections": (Role.CONNECTIONS, 8.0),
    "cache_mb": (Role.CONTENT_CACHE, 1024.0),
}
FEWEST_CELLS = 14


class SurfacesError(ValueError):
    """A file of surfaces that cannot be used; the message names the surface and what was expected."""


@dataclass(frozen=True)
class Surface:
    """One recorded surface: its space, and the score of each configuration in it (None if it failed)."""

    name: str
    group: tuple[str, str]
    space: ListedSpace
    scores: Mapping[tuple[Value, ...], float | None]
    features: Mapping[str, str | float]

    def score(self, configuration: Configuration) -> float | None:
        """What was recorded for the configuration."""
        return self.scores[tuple(configuration[knob.name] for knob in self.space.knobs)]

    @property
    def best(self) -> float:
        """The highest score."""
        return max(score for score in self.scores.values() if score is not None)

    def past_run(self) -> PastRun:
        """The surface as an earlier run to learn from."""
        results = tuple(
            Trial(
                configuration=configuration,
                verdict=Verdict.FAILED_VERIFICATION if score is None else Verdict.VERIFIED,
                score=score,
            )
            for configuration in self.space.configurations
            for score in [self.score(configuration)]
        )
        return PastRun(space=self.space, features=dict(self.features), results=results)


def thesis_surfaces() -> list[Surface]:
    """The tables that come with Trimtab."""
    text = resources.files("trimtab_tuner.replay").joinpath("thesis.json").read_text(encoding="utf-8")
    return parse_surfaces(text, "thesis.json")


def read_surfaces(file: Path) -> list[Surface]:
    """The surfaces of a file; OSError if it cannot be read, SurfacesError if it makes no sense."""
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SurfacesError(f"{file}: not a file of surfaces: it is no text in UTF-8") from error
    return parse_surfaces(text, str(file))


def parse_surfaces(text: str, name: str) -> list[Surface]:
    """The surfaces worth a search: merged ones instead of their parts, and at least `FEWEST_CELLS` cells."""
    try:
        records = [_Record.model_validate(record) for record in _listed(json.loads(text))]
        parts = {part for record in records for part in record.sources.values()}
        surfaces = [_surface(record) for record in records if record.id not in parts]
    except json.JSONDecodeError as error:
        raise SurfacesError(f"{name}: not a file of surfaces: it is no JSON ({error})") from error
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        what = f"a surface without {field}" if first["type"] == "missing" else f"{field}: {first['msg']}"
        raise SurfacesError(f"{name}: not a file of surfaces: {what}") from error
    except ValueError as error:
        raise SurfacesError(f"{name}: not a file of surfaces: {error}") from error
    usable = [surface for surface in surfaces if len(surface.scores) >= FEWEST_CELLS]
    if not usable:
        most = max((len(surface.scores) for surface in surfaces), default=0)
        raise SurfacesError(
            f"{name}: expected a surface with at least {FEWEST_CELLS} configurations; the largest has {most}"
        )
    return usable


def surface_record(
    name: str, *, server: str, workload: str, space: Space, results: Sequence[Trial]
) -> dict[str, Any]:
    """A run's trials in the form in which files of surfaces hold them."""
    axes, sends = [knob.name for knob in space.free], space.of_role(Role.SENDING_MODE)
    judged = [r for r in results if r.score is not None or r.verdict is Verdict.FAILED_VERIFICATION]
    return {
        "id": name,
        "server": server,
        "sendfile": str(judged[0].configuration[sends.name]) if judged and sends else "",
        "workload": workload,
        "axes": axes,
        "cells": [{**{axis: r.configuration[axis] for axis in axes}, "area": r.score} for r in judged],
    }


class _Record(BaseModel):
    """One surface as it stands in the file."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    id: str
    server: str
    sendfile: str
    workload: str
    axes: Annotated[list[str], Field(min_length=1)]
    cells: list[dict[str, Any]] | None = None
    knobs: dict[str, list[Any]] = {}
    values: list[Any] = []
    sources: dict[str, str] = {}


def _listed(document: object) -> list[object]:
    found = document.get("surfaces") if isinstance(document, dict) else None
    if not isinstance(found, list):
        raise ValueError("expected an object with a list named surfaces")
    return found


def _surface(record: _Record) -> Surface:
    axes = record.axes
    found: dict[tuple[Value, ...], list[float | None]] = {}
    for cell in _cells(record):
        key = tuple(_value(record.id, axis, cell) for axis in axes)
        found.setdefault(key, []).append(_area(record.id, cell))
    scores = {
        key: None if None in areas else sum(a for a in areas if a is not None) / len(areas)
        for key, areas in found.items()
    }
    if not any(scores.values()):
        raise ValueError(f"{record.id}: no configuration passed verification with more than 0")
    knobs = tuple(_knob(axis, [key[i] for key in scores]) for i, axis in enumerate(axes))
    configurations = tuple(dict(zip(axes, key, strict=True)) for key in scores)
    return Surface(
        name=record.id,
        group=(record.server, record.workload),
        space=ListedSpace(knobs=knobs, configurations=configurations),
        scores=scores,
        features=_features(record),
    )


def _value(name: str, axis: str, cell: Mapping[str, Any]) -> Value:
    value = cell.get(axis)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(f"{name}: {axis} = {value!r} in a cell; expected an integer or a word")
    return value


def _area(name: str, cell: Mapping[str, Any]) -> float | None:
    area = cell.get("area", "nothing")
    if area is None:
        return None
    if isinstance(area, bool) or not isinstance(area, int | float) or not 0 <= area < math.inf:
        raise ValueError(f"{name}: area {area!r}; expected a number from 0 on, or null")
    return float(area)


def _cells(record: _Record) -> Iterator[dict[str, Any]]:
    if record.cells is not None:
        yield from record.cells
        return
    values = [record.knobs.get(axis, []) for axis in record.axes]
    shape = " × ".join(str(len(each)) for each in values)
    for indices in itertools.product(*(range(len(each)) for each in values)):
        area: Any = record.values
        for index in indices:
            if not isinstance(area, list) or len(area) <= index:
                raise ValueError(f"{record.id}: values; expected {shape} of them, as knobs says")
            area = area[index]
        picked = (each[i] for each, i in zip(values, indices, strict=True))
        yield {**dict(zip(record.axes, picked, strict=True)), "area": area}


def _knob(axis: str, values: Sequence[Value]) -> Knob:
    text = f"Axis {axis} of a recorded surface."
    role, weight = AXES.get(axis, (None, 0.0))
    numbers = [value for value in values if isinstance(value, int)]
    if len(numbers) < len(values):
        choices = tuple(dict.fromkeys(values))
        return Knob(name=axis, role=role, kind="categorical", choices=choices, default=choices[0], help=text)
    low, high = min(numbers), max(numbers)
    return Knob(
        name=axis,
        role=role,
        kind="integer",
        scale="log" if low >= 1 else "linear",
        low=low,
        high=high,
        default=low,
        resource_weight=weight,
        help=text,
    )


def _features(record: _Record) -> dict[str, str | float]:
    """What a live run knows of itself too: architecture family, sendfile mode, disk-bound or not, CPUs."""
    server = record.server
    families = ("knot", "watpipe", "symped")
    features: dict[str, str | float] = {
        Role.ARCHITECTURE: next((family for family in families if family in server), server),
        Role.SENDING_MODE: record.sendfile,
    }
    workload = record.workload
    disk = {"uniprocessor 1.4 GB": 0.7, "uniprocessor 0.75 GB": 1.0, "multiprocessor 2 GB": 0.8}
    if workload.startswith(("uniprocessor", "multiprocessor")):
        features["disk"] = disk.get(workload, 0.0)
        features["cpus"] = float(workload.startswith("multiprocessor"))
    return features
