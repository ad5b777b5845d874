"""The kinds of file set a workload's definition may name: which files there are, and which ones are asked
for.

Every kind is the `[files]` table of a definition (definition.py) and knows two things: the list of its files
(`files`: URL path and size in bytes), and how to draw requests from it (`draw`), by two random streams of the
caller's. Draws come back as positions in that list.

    specweb99   the file set of SPECweb99: directories of 36 files, see below
    listed      a few files of given sizes, each asked for by its weight
    banded      many files in bands of size, each band with a share of the bytes transferred

SPECWEB99. Each directory holds 36 files: four classes of nine, file k of class c of floor(102.4 x k x 10^c)
bytes, 5,119,484 bytes in all (the seeds' thesis counts 4,096 more, just the size of the directory
itself). Paths are `/dir00000/class0_1` to `class3_9`. Classes are asked 35, 50, 14 and 1 %, files within a
class by `FILE_SHARES` (both from SPECweb99), directories by Zipf's law (the i-th with a weight of 1/i). All
choices are independent.

BANDED. Sizes within a band are spread evenly on a logarithmic scale, files are popular by Zipf's law, size
and popularity are independent. A band is asked so often that its expected share of the bytes transferred is
`byte_share`. Draws are stratified, so that a finite log keeps to the shares: few requests carry most of the
bytes, and independent draws would be off by several points.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from trimtab_tuner.frozen import Frozen

CLASS_SHARES = (0.35, 0.50, 0.14, 0.01)
FILE_SHARES = (0.039, 0.059, 0.088, 0.177, 0.353, 0.118, 0.071, 0.050, 0.045)
FILE_SIZES: tuple[int, ...] = tuple(1024 * k * int(10**c) // 10 for c in range(4) for k in range(1, 10))
LARGEST_FILE_BYTES = 1 << 32
MOST_FILES = 5_000_000  # the list of files is held in memory, at some 200 bytes each
STRATA = 500  # draws that are spread evenly over the cumulative shares, together

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
SizeBytes = Annotated[int, Field(ge=1, le=LARGEST_FILE_BYTES)]


class Specweb99Files(Frozen):
    """The file set of SPECweb99, in so many directories."""

    kind: Literal["specweb99"] = "specweb99"
    directories: Annotated[int, Field(ge=1, le=100_000)] = 10

    def files(self) -> Iterator[tuple[str, int]]:
        """Directory by directory."""
        for directory in range(self.directories):
            for index, size in enumerate(FILE_SIZES):
                yield f"/dir{directory:05d}/class{index // 9}_{index % 9 + 1}", size

    def draw(self, count: int, streams: tuple[np.random.Generator, np.random.Generator]) -> Integers:
        """File by the first stream, directory by the second: the files asked for do not depend on how many
        directories there are.
        """
        zipf = np.cumsum(1 / np.arange(1, self.directories + 1))
        files = pick(_SPECWEB99_CUMULATIVE, streams[0].random(count))
        directories = pick(zipf / zipf[-1], streams[1].random(count))
        return directories * len(FILE_SIZES) + files


class ListedFile(Frozen):
    """Files of one size, together asked for by `weight`."""

    size_bytes: SizeBytes
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0


class ListedFiles(Frozen):
    """A few sizes with their weights, each there in so many copies; the copies are equally popular."""

    kind: Literal["listed"]
    list: Annotated[tuple[ListedFile, ...], Field(min_length=1, max_length=10_000)]
    copies: Annotated[int, Field(ge=1, le=1_000_000)] = 1

    @model_validator(mode="after")
    def _countable(self) -> "ListedFiles":
        check_count(len(self.list) * self.copies)
        return self

    def files(self) -> Iterator[tuple[str, int]]:
        """Size by size, in the order of the list."""
        for number, file in enumerate(self.list):
            for copy in range(self.copies):
                yield f"/{number:04d}_{file.size_bytes}/file{copy:06d}", file.size_bytes

    def draw(self, count: int, streams: tuple[np.random.Generator, np.random.Generator]) -> Integers:
        """Size by the first stream, copy by the second."""
        cumulative = np.cumsum([file.weight for file in self.list])
        sizes = pick(cumulative / cumulative[-1], stratified(count, streams[0]))
        return sizes * self.copies + streams[1].integers(0, self.copies, count)


class Band(Frozen):
    """So many files of `from_bytes` to `to_bytes`, which carry `byte_share` of the bytes transferred."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
    files: Annotated[int, Field(ge=1, le=1_000_000)]
    from_bytes: SizeBytes
    to_bytes: SizeBytes
    byte_share: Annotated[float, Field(gt=0, le=1)]

    @model_validator(mode="after")
    def _ascending(self) -> "Band":
        if self.to_bytes < self.from_bytes:
            raise ValueError(f"to_bytes = {self.to_bytes}: expected at least from_bytes = {self.from_bytes}")
        return self

    def sizes(self) -> Integers:
        """The sizes of its files, ascending, evenly spread on a logarithmic scale."""
        steps = (np.arange(self.files) + 0.5) / self.files
        return np.rint(self.from_bytes * (self.to_bytes / self.from_bytes) ** steps).astype(np.int64)


class BandedFiles(Frozen):
    """Bands of size; `zipf` is the exponent of popularity within a band."""

    kind: Literal["banded"]
    bands: Annotated[tuple[Band, ...], Field(min_length=1, max_length=64)]
    zipf: Annotated[float, Field(ge=0, le=3)] = 1.0

    @model_validator(mode="after")
    def _whole(self) -> "BandedFiles":
        total = sum(band.byte_share for band in self.bands)
        if abs(total - 1) > 1e-6:
            raise ValueError(f"the bands' byte_share add up to {total:.6g}: expected 1")
        check_count(sum(band.files for band in self.bands))
        if len({band.name for band in self.bands}) != len(self.bands):
            raise ValueError("two bands have the same name: expected different ones")
        return self

    def files(self) -> Iterator[tuple[str, int]]:
        """Band by band, sizes ascending."""
        for band in self.bands:
            for number, size in enumerate(band.sizes().tolist()):
                yield f"/{band.name}/{number // 1000:03d}/file{number % 1000:03d}", size

    def draw(self, count: int, streams: tuple[np.random.Generator, np.random.Generator]) -> Integers:
        """By the shares of all files; the first stream is enough."""
        cumulative = np.cumsum(self._shares())
        return pick(cumulative / cumulative[-1], stratified(count, streams[0]))

    def _shares(self) -> Floats:
        """How often each file is asked for, in the order of `files()`, up to a common factor."""
        shares = []
        for position, band in enumerate(self.bands):
            # Ranks have a stream of their own: which file is popular belongs to the file set, not to a log.
            ranks = np.random.default_rng([position, band.files]).permutation(band.files) + 1
            popularity = ranks.astype(np.float64) ** -self.zipf
            shares.append(popularity * band.byte_share / float(popularity @ band.sizes()))
        return np.concatenate(shares)


def check_count(files: int) -> None:
    """Raises ValueError for more files than a run can hold in memory."""
    if files > MOST_FILES:
        raise ValueError(f"{files} files: expected at most {MOST_FILES}")


def pick(cumulative: Floats, uniform: Floats) -> Integers:
    """Positions drawn by cumulative shares, from uniform numbers in [0, 1)."""
    return np.minimum(np.searchsorted(cumulative, uniform, side="right"), cumulative.size - 1)


def stratified(count: int, stream: np.random.Generator, strata: int = STRATA) -> Floats:
    """Uniform numbers in [0, 1): every block of `strata` has one in each of that many equal intervals."""
    blocks = -(-count // strata)
    draws = stream.random((blocks, 2, strata))
    uniform: Floats = ((draws[:, 0].argsort(axis=1) + draws[:, 1]) / strata).ravel()[:count]
    return uniform


_SPECWEB99_CUMULATIVE = np.cumsum(np.outer(CLASS_SHARES, FILE_SHARES).ravel())
