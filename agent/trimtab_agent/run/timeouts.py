"""How many of the requests that timed out the server had read: what neither side can count alone.

The client sees that no reply came, and not whether anybody read what the server's kernel had acknowledged for
it.  The server counts the requests that it read, and not which of them nobody waited for any more.
Together: what the server read beyond what was answered completely it read of requests that timed out, or that
failed without a complete reply.  The latter may have been read or not, which makes the uncertainty; it is
nothing where no connection was reset or closed early.  A request counts as read also when the server came to
it only after the client had gone: the kernel keeps for it what has arrived.
"""

from trimtab_agent.load_generator import LoadResult

ANSWERED_FAILURES = ("status-", "wrong-length", "wrong-content")
"""Failures of requests that were answered completely: the server has read these."""


def timed_out_reads(result: LoadResult, requests_read: float) -> tuple[int, int]:
    """The least and the largest number of timed-out requests that the server had read.

    `requests_read` is what the server counted during the measurement.  Requests of others in that time, such
    as those for a status page, count among them and make the result too large by their number.
    """
    failed_answered = sum(
        count for name, count in result.failures.items() if name.startswith(ANSWERED_FAILURES)
    )
    beyond = round(requests_read) - result.requests.replied - failed_answered
    timed_out = result.requests.timed_out_before_read + result.requests.timed_out_after_read
    # Before the connection was there, nothing was sent that could have been read.
    could_be_read = timed_out - result.sessions.timed_out_connect
    at_most = max(0, min(could_be_read, beyond))
    at_least = max(0, beyond - (result.requests.failed - failed_answered))
    return min(at_least, at_most), at_most
