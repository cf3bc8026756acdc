"""The sections that every kind of file shares: providers, prices, context sizes, and the base of relative paths."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from .values import AS_NUMBER, MAX_COUNT, Amount, Name, Section, free


class Provider(Section):
    """How to reach a provider. Other names with a `base_url` are OpenAI-compatible endpoints.

    A plug-in may have its own options, which are checked with the models.
    """

    model_config = ConfigDict(extra="allow")

    base_url: str = Field(default="", description="Address of the API.", examples=["http://127.0.0.1:8080/v1"])
    api_key: str = Field(
        default="", description="The key; better from the environment.", examples=["${OPENAI_API_KEY}"], repr=False
    )
    headers: dict[str, str] = Field(default={}, description="Further HTTP headers.", repr=False)
    api_version: str = Field(default="", description="Version of the API.", examples=["2023-06-01"])
    transport: Literal["aiohttp", "sdk"] = Field(
        default="aiohttp", description="aiohttp, or the official SDK's client."
    )

    @model_validator(mode="before")
    @classmethod
    def _with_free_options(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        return {key: value if key in cls.model_fields else free(value) for key, value in raw.items()}

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """Hides the options of plug-ins, as any of them may be secret."""
        return [(name, value) for name, value in super().__repr_args__() if name in type(self).model_fields]


class Price(Section):
    """Dollars per million tokens."""

    input: Amount = Field(description="Tokens read.", examples=[2.5])
    output: Amount = Field(description="Tokens written.", examples=[10])
    cache_read: Amount | None = Field(
        default=None, description="Tokens read from the provider's cache; default: as input."
    )
    cache_write: Amount | None = Field(
        default=None, description="Tokens written to the provider's cache; default: as input."
    )


class ModelFile(Section):
    """The sections that every kind of file with models has."""

    providers: dict[Name, Provider] = Field(default={}, description="Addresses and keys by provider.")
    prices: dict[Name, Price] = Field(
        default={}, description="Prices by model type, where the built-in ones are wrong."
    )
    context_windows: dict[Name, Annotated[int, Field(ge=64, le=MAX_COUNT), AS_NUMBER]] = Field(
        default={}, description="Context sizes in tokens by model type."
    )


BaseDirectory = Annotated[
    str, Field(description="Where relative paths start and .env is read; by default the folder of this file.")
]
