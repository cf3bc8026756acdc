"""Asks all providers for their models at once."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..core.errors import ConfigError, ProviderError
from ..providers._capabilities import ListedModel, list_models
from ..providers._endpoints import known_providers, provider_traits


@dataclass(frozen=True, slots=True)
class SurveyedProvider:
    """A provider's `state`: ready, not set up (no key or address), or out of reach for the reason in `message`."""

    provider: str
    state: Literal["ready", "not set up", "out of reach"]
    models: tuple[ListedModel, ...] = ()
    message: str = ""


def survey(providers: Sequence[str] = ()) -> Sequence[SurveyedProvider]:
    """Asks `providers`, by default all that can be asked here."""
    traits = {name: provider_traits(name) for name in known_providers()}
    chosen = providers or [name for name, each in traits.items() if not (each.recited or each.human)]

    async def ask_all() -> Sequence[SurveyedProvider]:
        return await asyncio.gather(*map(_survey_one, chosen))

    return asyncio.run(ask_all())


async def _survey_one(provider: str) -> SurveyedProvider:
    try:
        return SurveyedProvider(provider, "ready", await list_models(provider))
    except ConfigError as error:
        return SurveyedProvider(provider, "not set up", message=str(error))
    except ProviderError as error:
        return SurveyedProvider(provider, "out of reach", message=str(error))
