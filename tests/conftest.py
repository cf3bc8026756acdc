"""What holds for all tests."""

import gc

from hypothesis import HealthCheck, settings

# How long an example takes depends on what else the machine does; how much work it is, other tests count.
settings.register_profile("ours", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ours")


def pytest_collection_finish() -> None:
    """Thousands of tests and the libraries of vendors stay: the garbage collector need not look at them again."""
    gc.collect()
    gc.freeze()
