"""What a user may do when a provider says no."""

from ..core.errors import ProviderError
from ..core.plugins import near
from ._model_names import KNOWN
from ._settings import Key


def advice(error: ProviderError, provider: str, model: str, key: Key) -> str:
    """Names the variable of a key, never its value."""
    match error.status:
        case 401 if key.value:
            return f"Is {key.source} right?"
        case 401:
            return f"It wants a key: set {key.source}."
        case 403:
            return f"May the key in {key.source} use {model}?"
        case 404:
            close = near(model, list(KNOWN.get(provider, ())))
            return f"Is the model's name right{close if close.endswith('?') else ', and base_url?'}"
    return ""
