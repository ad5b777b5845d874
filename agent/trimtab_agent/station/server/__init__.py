"""The server under test: one instance or several replicas, what it counts, the pool behind it."""
