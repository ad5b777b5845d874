"""The `[shop]` table of a definition: a database with a shop, and customers of one mix (shop.py)."""

from typing import Annotated, Literal

from pydantic import Field

from trimtab_tuner.frozen import Frozen

BYTES_OF_ITEM = 2300  # with its customers and orders: 23 MB of tables for 10,000 items, measured
MOST_ITEMS = 800_000  # beyond, numbers of items are longer, and so are replies


class Shop(Frozen):
    """The `[shop]` table of a definition: the customers' mix, the size of the shop, the mean of a pause."""

    mix: Literal["browsing", "shopping", "ordering"]
    items: Annotated[int, Field(ge=10_000, le=MOST_ITEMS, multiple_of=10_000)] = 10_000
    pause_s: Annotated[float, Field(ge=0, le=60)] = 7.0

    @property
    def size_bytes(self) -> int:
        """About what its tables take up."""
        return self.items * BYTES_OF_ITEM
