"""Settings for all tests: the same generated examples in every run, however slow the machine."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "everywhere",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("everywhere")
