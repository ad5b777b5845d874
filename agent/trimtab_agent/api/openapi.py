"""Prints the OpenAPI document, from which the web UI's client is generated.

`python -m trimtab_agent.api.openapi > webui/openapi.json` after every change of a route or a schema.
"""

import json

from trimtab_agent.api.app import make_api


def document() -> str:
    """The document as it is committed: sorted, indented, ending in a newline."""
    return json.dumps(make_api().openapi(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(document(), end="")
