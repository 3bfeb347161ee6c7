"""One Hypothesis profile for all of these tests: the same examples on every run and machine."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "lab",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("lab")
