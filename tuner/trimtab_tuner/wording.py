"""How sentences count and measure: `1 trial`, `3 trials`, `1,321 Mbps`."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number and its noun, which gets an s from two on where there is no other `plural`."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def in_mbps(goodput_mbps: float) -> str:
    """Goodput or a score with its unit, in three digits and whole from 100 on, as the web UI shows it."""
    decimals = 0 if goodput_mbps >= 99.95 else 1 if goodput_mbps >= 9.995 else 2
    return f"{goodput_mbps:,.{decimals}f} Mbps"
