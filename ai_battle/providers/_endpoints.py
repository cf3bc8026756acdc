"""The providers: files of this folder, plug-ins, and servers that speak OpenAI's API (a row of `ENDPOINTS` each).

Nothing here loads an HTTP client, since reading names and checking files must not need one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from math import ceil
from typing import Any

from ..core import plugins
from ..core.client import require_client
from ..core.exchange import FileTokens
from ..core.traits import ProviderTraits, features

PACKAGE = "ai_battle.providers"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address and traits of an API. `urls` are variables that may hold its URL, before `base_url`.

    `start` tells users how to start a server of their own. `quirks` are the fields of `Quirks` with unusual values, for
    servers with OpenAI's API.
    """

    traits: ProviderTraits
    base_url: str = ""
    urls: tuple[str, ...] = ()
    start: str = ""
    needs_key: bool = False
    quirks: Mapping[str, str | bool] = field(default_factory=dict)


_CHAT = partial(ProviderTraits, http=True, api="chat")
CUSTOM_TRAITS = _CHAT()
"""The traits of a server that only the file defines."""


def _picture_tokens(width: int, height: int) -> int:
    """Returns 85 tokens plus 170 for each tile of 512 px, after fitting it into 2,048 px and 768 px (shorter side).

    Source: platform.openai.com/docs/guides/images, for the models that count tiles.
    """
    scale = min(1, 2048 / max(width, height), 768 / min(width, height))
    return 85 + 170 * ceil(width * scale / 512) * ceil(height * scale / 512)


_SEES = features("tools", "images", "documents", "json_schema")
_REASONS = features("tools", "images", "documents", "json_schema", "reasoning")

ENDPOINTS: Mapping[str, Endpoint] = {
    "openai": Endpoint(
        _CHAT(
            keys=("OPENAI_API_KEY",), needs_model=True, files=FileTokens(_picture_tokens), price_list="openai",
            lists_all=True, starter="gpt-4o-mini",
            models=(("gpt-4o*", _SEES), ("gpt-4.1*", _SEES), ("gpt-*", _REASONS), ("o[0-9]*", _REASONS)),
        ),
        "https://api.openai.com/v1", ("OPENAI_BASE_URL",), needs_key=True,
        quirks={"max_tokens": "max_completion_tokens", "file_urls": False},
    ),
    "openrouter": Endpoint(
        _CHAT(
            keys=("OPENROUTER_API_KEY",), needs_model=True, levels=True, price_list="openrouter",
            advisor_tool="openrouter:advisor", starter="openrouter/meta-llama/llama-3.3-70b-instruct",
        ),
        "https://openrouter.ai/api/v1", ("OPENROUTER_BASE_URL",), needs_key=True, quirks={"reasoning": "reasoning"},
    ),
    "groq": Endpoint(
        _CHAT(
            keys=("GROQ_API_KEY",), needs_model=True, levels=True, price_list="groq",
            starter="groq/llama-3.3-70b-versatile",
            models=(("openai/gpt-oss*", features("tools", "reasoning", "json_schema")),),
        ),
        "https://api.groq.com/openai/v1", ("GROQ_BASE_URL",), needs_key=True,
        # Groq rejects a speaker's name with HTTP 400.
        quirks={"max_tokens": "max_completion_tokens", "reasoning": "reasoning", "names": False},
    ),
    "azure": Endpoint(
        _CHAT(keys=("AZURE_OPENAI_API_KEY",), telemetry="azure.ai.openai", needs_model=True, price_list="azure"),
        "", ("AZURE_OPENAI_ENDPOINT",), needs_key=True,
        quirks={"max_tokens": "max_completion_tokens", "file_urls": False},
    ),
    "lmstudio": Endpoint(
        _CHAT(keys=("LMSTUDIO_API_KEY", "LM_API_TOKEN"), local=True, levels=True, dashed=True),
        "http://127.0.0.1:1234/v1", ("LMSTUDIO_BASE_URL",),
        "Is LM Studio's server running? Start it with: lms server start",
    ),
    "vllm": Endpoint(
        _CHAT(keys=("VLLM_API_KEY",), local=True, levels=True), "http://127.0.0.1:8000/v1", ("VLLM_BASE_URL",),
        "Is vLLM running? Start it with: vllm serve MODEL", quirks={"reasoning": "reasoning"},
    ),
    "llamacpp": Endpoint(  # no reasoning, as the template of gpt-oss fails for a call with both text and reasoning
        _CHAT(keys=("LLAMA_API_KEY",), local=True, levels=True), "http://127.0.0.1:8080/v1", ("LLAMACPP_BASE_URL",),
        "Is llama.cpp's server running? Start it with: llama-server -m MODEL.gguf",
    ),
    "mlx": Endpoint(
        _CHAT(local=True, needs_model=True, levels=True, dashed=True), "http://127.0.0.1:8080/v1", ("MLX_BASE_URL",),
        "Is the MLX server running? Start it with: mlx_lm.server --model MODEL",
        # The server passes messages unchanged to the model's template, which reads this field.
        quirks={"reasoning": "reasoning_content"},
    ),
}  # fmt: skip


GATEWAY = "openai"
"""The provider whose API gateways speak; it reads `OPENAI_BASE_URL`."""


@cache
def packaged_providers() -> tuple[str, ...]:
    """Returns the names of all providers in this package."""
    return tuple(dict.fromkeys((*sorted(plugins.module_names(PACKAGE)), *ENDPOINTS)))


def known_providers() -> tuple[str, ...]:
    """Returns the names of all providers including plug-ins: those on this machine first, model files last of these."""
    names = dict.fromkeys((*packaged_providers(), *plugins.names(PACKAGE)))
    return tuple(sorted(names, key=lambda name: (not provider_traits(name).local, provider_traits(name).from_file)))


def is_plugin(provider: str) -> bool:
    """Returns whether a module makes the clients: a file of this folder, an installed plug-in or a dotted name."""
    return "." in provider or plugins.is_there(PACKAGE, provider)


def provider_traits(provider: str) -> ProviderTraits:
    """Returns a provider's traits; a name that is neither a plug-in nor a row means a server that the file defines."""
    if is_plugin(provider):
        return plugins.traits(PACKAGE, provider, ProviderTraits())
    row = ENDPOINTS.get(provider)
    return row.traits if row else CUSTOM_TRAITS


def provider_module(provider: str) -> str:
    """Returns the name of the module that makes a provider's clients."""
    return provider if is_plugin(provider) else "openai"


def create_provider(provider: str, model: str, options: Mapping[str, Any]) -> Any:
    """Returns the bare client of a provider. Raises `ConfigError` for unknown options."""
    named = {} if is_plugin(provider) else {"endpoint": provider}
    client = plugins.create(PACKAGE, provider_module(provider), model, **named, **options)
    require_client(client, f"The client that {provider} creates")
    return client
