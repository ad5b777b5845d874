"""The classic BPF programs that say which socket of a group gets a new connection (socket(7),
SO_ATTACH_REUSEPORT_CBPF): by weight for the public, and by its source port for a request of our own.

The kernel draws a random number for each connection; it falls into one of the ranges that the shares cut off.
Index 0 is production's. An index that there is not falls back to the kernel's own choice.

A connection from this machine's loopback address and a reserved port (512 to 1023, which only root may use,
and which the kernel gives to nobody by itself) is a direct one: the port modulo 4 is the index. So an arm can
be asked for something before it gets a connection of anybody else (direct.py).
"""

import struct
from collections.abc import Sequence

# linux/filter.h: load a word or half of one, jump if equal or at least, return a constant or the accumulator;
# shift, mask, and keep the accumulator in the index register.
LOAD, LOAD_HALF = 0x20, 0x28
JUMP, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST = 0x05, 0x15, 0x35
RETURN, RETURN_IT = 0x06, 0x16
MASK, SHIFT_RIGHT = 0x54, 0x74
KEEP, GIVE_BACK = 0x07, 0x87
# Places: what the kernel knows of a packet, and its network header.
PROTOCOL, RANDOM = 0xFFFFF000, 0xFFFFF000 + 56  # SKF_AD_OFF + SKF_AD_PROTOCOL, SKF_AD_RANDOM
NETWORK = 0xFFF00000  # SKF_NET_OFF
IPV4, IPV6 = 0x0800, 0x86DD  # linux/if_ether.h
INSTRUCTION = struct.Struct("HBBI")
WHOLE = 1 << 32

RESERVED = range(512, 1024)
MOST_DIRECT = 4

Instruction = tuple[int, int, int, int]
"""Code, how many to jump over if true and if false, and a constant."""

# By family: is the source a loopback address? With the number of instructions up to that for the port.
_IPV4_PORT = [
    (LOAD, 0, 0, NETWORK + 12),
    (SHIFT_RIGHT, 0, 0, 24),
    (JUMP_IF_EQUAL, 0, None, 127),
    (LOAD_HALF, 0, 0, NETWORK + 20),
]
_IPV6_PORT = [
    *(
        instruction
        for place, word in ((8, 0), (12, 0), (16, 0), (20, 1))
        for instruction in ((LOAD, 0, 0, NETWORK + place), (JUMP_IF_EQUAL, 0, None, word))
    ),
    (LOAD_HALF, 0, 0, NETWORK + 40),
]
_BY_PORT = [
    (KEEP, 0, 0, 0),
    (SHIFT_RIGHT, 0, 0, 9),
    (JUMP_IF_EQUAL, 0, None, 1),
    (GIVE_BACK, 0, 0, 0),
    (MASK, 0, 0, MOST_DIRECT - 1),
    (RETURN_IT, 0, 0, 0),
]


def _direct() -> list[Instruction]:
    """Direct connections; whatever is none goes on behind the last instruction (None stands for there)."""
    program = [
        (LOAD, 0, 0, PROTOCOL),
        (JUMP_IF_EQUAL, 0, 1 + len(_IPV4_PORT), IPV4),
        *_IPV4_PORT,
        (JUMP, 0, 0, 1 + len(_IPV6_PORT)),
        (JUMP_IF_EQUAL, 0, None, IPV6),
        *_IPV6_PORT,
        *_BY_PORT,
    ]
    return [
        (code, if_true, len(program) - at - 1 if if_false is None else if_false, constant)
        for at, (code, if_true, if_false, constant) in enumerate(program)
    ]


def by_weight(shares: Sequence[float]) -> list[Instruction]:
    """The program for the public: production has what the shares leave.

    Raises ValueError for shares that are negative or more than the whole.
    """
    if any(share < 0 for share in shares) or sum(shares) > 1 + 1e-9:
        raise ValueError(f"shares {list(shares)}: expected none negative, and 1 in all at most")
    program = [(LOAD, 0, 0, RANDOM)]
    end = 0.0
    for index, share in enumerate(shares, 1):
        end += share
        if not share:
            continue
        # A range up to the whole cannot be written as "at least the whole": everything is in it.
        limit = round(end * WHOLE)
        if limit < WHOLE:
            program.append((JUMP_IF_AT_LEAST, 1, 0, limit))
        program.append((RETURN, 0, 0, index))
    program.append((RETURN, 0, 0, 0))
    return program


def filter_of(shares: Sequence[float]) -> list[Instruction]:
    """The whole program: direct connections first, then the public; raises ValueError as by_weight() does."""
    return [*_direct(), *by_weight(shares)]
