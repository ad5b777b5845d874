"""The workload of a definition with a shop: its tables, and its customers' sessions (shop.py)."""

import math
from collections.abc import Iterator

from trimtab_tuner.workloads import shop
from trimtab_tuner.workloads.drawn import DEFAULT_REQUESTS
from trimtab_tuner.workloads.session_log import Session
from trimtab_tuner.workloads.shop_table import Shop


class ShopWorkload:
    """The workload of a definition with a shop. Pauses are multiplied by `time_scale`."""

    default_sessions = math.ceil(DEFAULT_REQUESTS / shop.SESSION_LENGTH)

    def __init__(self, name: str, made_of: Shop, seed: int, time_scale: float) -> None:
        self.name = name
        self._shop = made_of
        self._seed = seed
        self._time_scale = time_scale

    def files(self) -> Iterator[tuple[str, int]]:
        """None: what is asked for stands in the database."""
        return iter(())

    def total_bytes(self) -> int:
        """About the size of the tables."""
        return self._shop.size_bytes

    def scripts(self) -> dict[str, str]:
        """None."""
        return {}

    def data(self) -> str:
        """The statements that make the tables."""
        return shop.data(self._shop.items)

    def sessions(self, count: int | None = None) -> list[Session]:
        """The first `count` customers of the log (`default_sessions` if not given)."""
        return shop.sessions(
            self._shop.mix,
            items=self._shop.items,
            count=self.default_sessions if count is None else count,
            pause_s=self._shop.pause_s,
            seed=self._seed,
            time_scale=self._time_scale,
        )
