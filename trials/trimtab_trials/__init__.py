"""What one trial is: a configuration, what was measured of it at each rate, and what became of it.

The tuner decides by these, the database keeps them, the agent makes them. All are plain frozen values of the
standard library, so that whoever holds one can compare, store and send it. Rates are requests per second
(`_rps`), goodput is 10^6 bit/s (`_mbps`), durations are seconds (`_s`), latencies microseconds (`_us`),
points in time are aware `datetime`s in UTC (`_at`).
"""
