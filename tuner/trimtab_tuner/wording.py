"""How sentences count: `1 trial`, `3 trials`."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number and its noun, which gets an s from two on where there is no other `plural`."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
