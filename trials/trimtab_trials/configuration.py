"""A configuration: one value for each active knob, by the knob's name."""

import hashlib
import json

Value = int | str
Configuration = dict[str, Value]


def configuration_hash(configuration: Configuration) -> str:
    """Twelve hex digits of the SHA-256 of the configuration's canonical JSON (keys sorted, no spaces)."""
    canonical = json.dumps(configuration, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]
