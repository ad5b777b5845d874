"""What holds for every Python test: a property test has the same examples each time, and no example fails for
having taken long.

A busy machine makes anything take long; speed is measured by `make bench`. New examples are looked for with
`pytest --hypothesis-profile=random`.
"""

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

settings.register_profile("random", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("gate", settings.get_profile("random"), derandomize=True)
settings.load_profile("gate")

# Hypothesis also draws numbers and words that it finds in the modules imported so far, and which those are
# depends on the tests that have run in this process before. There is no setting for that;
# trials/tests/test_examples.py fails where these names have gone.
providers._get_local_constants = lambda: providers._local_constants
