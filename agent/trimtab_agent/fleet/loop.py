"""An event loop in a thread of its own, for synchronous callers of the engine."""

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """Runs coroutines for other threads until it is closed."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def start(self, work: Coroutine[Any, Any, T]) -> "concurrent.futures.Future[T]":
        """Begins with it, and says what came of it later."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def run(self, work: Coroutine[Any, Any, T], timeout_s: float | None = None) -> T:
        """Carries it out and waits; raises what it raises, TimeoutError when it takes longer."""
        begun = self.start(work)
        try:
            return begun.result(timeout_s)
        except concurrent.futures.TimeoutError:
            begun.cancel()
            raise

    def close(self) -> None:
        """Ends what is still going on, and the thread."""

        async def end_all() -> None:
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        self.run(end_all())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()
