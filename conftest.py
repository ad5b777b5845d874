"""What holds for every Python test: no example of a property test fails for having taken long.

A busy machine makes anything take long. Speed is measured by `make bench`.
"""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
