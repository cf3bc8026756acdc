"""Tools for models without any, where the client brings them: told of in words, called in the text."""

from ..core.client import ModelClient
from ..tools.formats._refusals import refuses_tools
from ..tools.formats.auto import Auto

__all__ = ["in_words", "refuses_tools"]


def in_words(client: ModelClient) -> ModelClient:
    return Auto(client, "text")
