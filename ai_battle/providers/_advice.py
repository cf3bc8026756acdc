"""What a user may do when a provider says no."""

from collections.abc import Sequence

from pydantic_core import from_json

from ..core.errors import ProviderError
from ..core.plugins import near
from ._capabilities import LISTS, model_list
from ._deadlines import Clocks, Deadlines
from ._names import KNOWN
from ._settings import Key
from ._transport import Transport

_A_LOOK = Deadlines(connect=2.0, total=3.0)


def advice(error: ProviderError, provider: str, model: str, key: Key, there: Sequence[str] = ()) -> str:
    """Names the variable of a key, never its value; `there` are the models that the server has."""
    match error.status:
        case 401 if key.value:
            return f"Is {key.source} right?"
        case 401:
            return f"It wants a key: set {key.source}."
        case 403:
            return f"May the key in {key.source} use {model}?"
        case 404:
            return _no_such_model(provider, model, there)
    return ""


async def models_at(transport: Transport) -> tuple[str, ...]:
    """The models that a server lists; none when it does not, or not at once."""
    provider = transport.address.provider
    path = LISTS.get(provider, "/models")
    try:
        async with Clocks(_A_LOOK, str(transport.address)), transport.send("GET", path) as reply:
            body = from_json(await reply.whole())
    except (ProviderError, ValueError):
        return ()
    return tuple(model.name for model in model_list(provider, body)) if isinstance(body, dict) else ()


def _no_such_model(provider: str, model: str, there: Sequence[str]) -> str:
    names = list(there or KNOWN.get(provider, ()))
    close = near(model, names)
    if model not in names and (there or close.endswith("?")) and close != ".":
        return f"There is no {model!r}{close}"
    return "Is the model's name right, and base_url?"
