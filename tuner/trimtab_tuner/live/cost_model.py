"""What CPU time the requests of a period are expected to take, by how many they are and how much was sent.

Two servers with the same share of the connections do not get the same mix of replies: by chance one has more
of the large ones in a period. Their CPU time is compared with what is expected of each one's own mix, so that
much less of the difference is chance. What is expected is learnt from earlier periods of both, and so treats
them alike.

Connections do not count: a candidate that makes clients connect more often is to be seen to cost more.
"""

from trimtab_tuner.live.observed import ArmPeriod

# Until so many periods have been seen a request is a request.
LEAST_PERIODS = 20
LEAST_REQUESTS = 10


class CostModel:
    """CPU seconds as a sum over requests and bytes, each with its weight, by least squares."""

    def __init__(self) -> None:
        # Sums of products, each period weighted by 1 / requests: its variance grows with them.
        self._requests, self._bytes, self._both = 0.0, 0.0, 0.0
        self._cpu_requests, self._cpu_bytes = 0.0, 0.0
        self._periods = 0

    def tell(self, arm: ArmPeriod) -> None:
        """One more period of a server."""
        if arm.requests < LEAST_REQUESTS or not arm.cpu_s:
            return
        size = arm.bytes_sent / arm.requests
        self._periods += 1
        self._requests += arm.requests
        self._both += arm.bytes_sent
        self._bytes += arm.bytes_sent * size
        self._cpu_requests += arm.cpu_s
        self._cpu_bytes += arm.cpu_s * size

    def expected_s(self, arm: ArmPeriod) -> float:
        """What its requests and bytes are expected to take, up to a factor that both have."""
        of_request, of_byte = self._weights()
        return of_request * arm.requests + of_byte * arm.bytes_sent

    def _weights(self) -> tuple[float, float]:
        """Of a request and of a byte, neither negative; a request alone where nothing can be told apart."""
        spread = self._requests * self._bytes - self._both**2
        if self._periods < LEAST_PERIODS or spread <= 1e-6 * self._requests * self._bytes:
            return 1.0, 0.0
        of_request = (self._cpu_requests * self._bytes - self._cpu_bytes * self._both) / spread
        of_byte = (self._cpu_bytes * self._requests - self._cpu_requests * self._both) / spread
        if of_byte <= 0 or of_request <= 0:
            # One of them explains all of it. That of bytes alone would make a period without any cost
            # nothing.
            return 1.0, 0.0
        return of_request, of_byte
