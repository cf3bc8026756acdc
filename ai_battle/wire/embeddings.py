"""OpenAI's Embeddings API, which most servers offer: https://platform.openai.com/docs/api-reference/embeddings.

The text of the response is the vector, encoded for `vector_of`. It has length one, so the dot product of two vectors
is their cosine similarity.
"""

from array import array
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from math import hypot, isfinite
from operator import mul
from typing import Any

from pydantic_core import to_json

from ..core.errors import BadReply
from ..core.exchange import ModelRequest, ModelResponse
from ..core.messages import assistant
from .openai import StreamReader, decode_error, decode_usage

__all__ = ["StreamReader", "decode_error", "decode_response", "decode_usage", "encode_request"]
PATH = "/embeddings"


def encode_request(request: ModelRequest, model: str) -> bytes:
    """Asks for the embedding of the last message's text."""
    return to_json({"model": model, "input": request.messages[-1].text, "encoding_format": "float"})


def decode_response(body: Mapping[str, Any]) -> ModelResponse:
    """Raises `BadReply` if the body holds no vector or one without a finite, positive length."""
    try:
        vector = [float(value) for value in body["data"][0]["embedding"]]
    except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
        raise BadReply("The answer has no embedding.") from error
    length = hypot(*vector)
    if not (isfinite(length) and length):
        raise BadReply("The embedding has no length.")
    text = b64encode(array("f", (value / length for value in vector)).tobytes()).decode()
    return ModelResponse(assistant(text), usage=decode_usage(body), model=str(body.get("model") or ""))


def vector_of(text: str) -> Sequence[float]:
    return array("f", b64decode(text))


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Returns the similarity of two vectors, from -1 to 1; 0 if their lengths differ, as those of two models do."""
    return sum(map(mul, one, other)) if len(one) == len(other) else 0.0
