"""Leaves out the parameters that a model refuses: found out once, remembered, and said once."""

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

from ..core.client import ModelClient
from ..core.errors import ContextTooLong, ProviderError
from ..core.events import Emit, Warned, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ._learned import Learned

EACH_TIME = "warn each time"
"""In the `extra` of a request whose sender is told of every option that is left out, not once for each client."""

_SPELLINGS = {
    "temperature": ("temperature",),
    "max_tokens": ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "num_predict"),
    "top_p": ("top_p", "topP"),
    "top_k": ("top_k", "topK"),
    "seed": ("seed",),
    "stop": ("stop", "stop_sequences", "stopSequences"),
    "reasoning": ("reasoning", "reasoning_effort", "thinking", "think", "thinkingConfig", "thinking_config", "effort"),
}
_FOR_GOOD = re.compile(
    r"unsupported|not supported|(does not|doesn't) support|unknown|unrecogni[sz]ed|not permitted|not allowed|unexpected"
    r"|deprecated|only the default|not available|cannot be (used|specified)",
    re.IGNORECASE,
)


class Adapting(ModelClient):
    """`endpoint` and `model` are the names under which a refusal is remembered on this machine."""

    def __init__(self, client: ModelClient, endpoint: str, model: str) -> None:
        self._client = client
        self._remembered_as = (endpoint, model)
        self._refused: set[str] = set()
        self._said: set[str] = set()
        self.endpoint: str = getattr(client, "endpoint", "")

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        asked = await self._without_refused(request, emit)
        while True:
            try:
                return await self._client.complete(asked, emit)
            except ProviderError as error:
                refused = refused_option(error, asked.options)
                if refused is None:
                    raise
                self._remember(refused, error)
                asked = await self._without(asked, refused, f": {error}", emit)

    async def aclose(self) -> None:
        await self._client.aclose()

    @cached_property
    def _learned(self) -> Learned:
        """Looked for once: what another process learns meanwhile is not worth a look at the disk with each call."""
        return Learned.load()

    async def _without_refused(self, request: ModelRequest, emit: Emit) -> ModelRequest:
        if not request.options:
            return request
        for option in sorted({*self._refused, *self._learned.refuses(*self._remembered_as)} & request.options.keys()):
            request = await self._without(request, option, ", as it did before.", emit)
        return request

    async def _without(self, request: ModelRequest, option: str, why: str, emit: Emit) -> ModelRequest:
        if option not in self._said or EACH_TIME in request.extra:
            self._said.add(option)
            await emit(Warned(f"{option!r} is left out: {'/'.join(self._remembered_as)} refuses it{why}", option))
        return replace(request, options={name: value for name, value in request.options.items() if name != option})

    def _remember(self, option: str, error: ProviderError) -> None:
        """On disk only what is refused whatever its value; a value out of range says nothing about the next one."""
        if _FOR_GOOD.search(str(error)):
            self._refused.add(option)
            self._learned.remember(*self._remembered_as, option)


def refused_option(error: ProviderError, options: Iterable[str]) -> str | None:
    """The one of `options` that a 400 names, under any of the names that the APIs have for it."""
    if error.status not in (400, 422) or isinstance(error, ContextTooLong):
        return None
    options = tuple(options)
    return next((option for text in (str(error), error.raw) for option in options if _names(text, option)), None)


def _names(text: str, option: str) -> bool:
    spellings = "|".join(map(re.escape, _SPELLINGS.get(option, (option,))))
    return re.search(rf"(?<![\w-])({spellings})(?![\w-])", text) is not None
