"""What this machine can reach: each provider asked for its models, all at once."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ai_battle.core.errors import ConfigError, ProviderError
from ai_battle.providers._capabilities import ListedModel
from ai_battle.providers._listing import list_models

SURVEYED = (
    "ollama", "lmstudio", "vllm", "llamacpp", "mlx", "gguf",
    "anthropic", "openai", "gemini", "openrouter", "groq", "azure",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SurveyedProvider:
    """`state`: ready; not set up (a key or an address is missing); or out of reach, for the reason in `message`."""

    provider: str
    state: Literal["ready", "not set up", "out of reach"]
    models: tuple[ListedModel, ...] = ()
    message: str = ""


def survey(providers: Iterable[str] = SURVEYED) -> Sequence[SurveyedProvider]:
    return asyncio.run(_survey(providers))


async def _survey(providers: Iterable[str]) -> Sequence[SurveyedProvider]:
    return await asyncio.gather(*map(_survey_one, providers))


async def _survey_one(provider: str) -> SurveyedProvider:
    try:
        return SurveyedProvider(provider, "ready", await list_models(provider))
    except ConfigError as error:
        return SurveyedProvider(provider, "not set up", message=str(error))
    except ProviderError as error:
        return SurveyedProvider(provider, "out of reach", message=str(error))
