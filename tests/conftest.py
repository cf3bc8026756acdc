"""What holds for all tests."""

from hypothesis import HealthCheck, settings

# How long an example takes depends on what else the machine does; how much work it is, other tests count.
settings.register_profile("ours", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ours")
