"""A provider under a dotted name whose client the test brings: `create_client("tests.providers.plugin/x", inner=y)`."""

from ai_battle.core.client import ModelClient


def create(model: str, *, inner: ModelClient) -> ModelClient:
    return inner
