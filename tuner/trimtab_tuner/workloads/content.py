"""The contents of a file set's files: a function of URL path and offset, so that no copy is needed to verify.

The definition, which the load generator's verification follows too. All arithmetic is on unsigned 64-bit
integers and wraps round.

    key     = FNV-1a of the URL path's bytes, 64 bits, as it stands in the request line
              (offset basis 0xcbf29ce484222325, prime 0x100000001b3; from the first `/`, without query)
    word[i] = mix(key + (i + 1) * 0x9e3779b97f4a7c15)          for i = 0, 1, 2, …
    mix(z)  = z ^= z >> 30; z *= 0xbf58476d1ce4e5b9; z ^= z >> 27; z *= 0x94d049bb133111eb; z ^= z >> 31

Byte `n` of the file is byte `n % 8` of word[n / 8], least significant byte first. word[i] is output i of
Vigna's splitmix64 generator seeded with the key, so contents do not compress and files do not share pages.
"""

import numpy as np
from numpy.typing import NDArray

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_CHUNK_WORDS = 8192  # 64 KiB: both working arrays stay in a core's second-level cache
_STEPS = np.arange(1, _CHUNK_WORDS + 1, dtype=np.uint64) * _GAMMA


def path_key(path: str) -> int:
    """FNV-1a, 64 bits, of the path's UTF-8 bytes."""
    key = 0xCBF29CE484222325
    for byte in path.encode():
        key = (key ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return key


def file_content(path: str, size: int) -> bytes:
    """The first `size` bytes of the file of that URL path."""
    words = np.empty(-(-size // 8), dtype="<u8")
    shifted = np.empty(_CHUNK_WORDS, dtype=np.uint64)
    base = np.array([path_key(path)], dtype=np.uint64)
    advance = np.array([_CHUNK_WORDS], dtype=np.uint64) * _GAMMA
    for start in range(0, words.size, _CHUNK_WORDS):
        chunk = words[start : start + _CHUNK_WORDS]
        np.add(_STEPS[: chunk.size], base, out=chunk)
        _mix(chunk, shifted[: chunk.size])
        base += advance
    return words.view(np.uint8)[:size].tobytes()


def _mix(z: NDArray[np.uint64], shifted: NDArray[np.uint64]) -> None:
    """splitmix64's output function, in place; `shifted` is working space of the same length."""
    for shift, factor in ((30, _MIX_1), (27, _MIX_2), (31, None)):
        np.right_shift(z, np.uint64(shift), out=shifted)
        np.bitwise_xor(z, shifted, out=z)
        if factor is not None:
            np.multiply(z, factor, out=z)
