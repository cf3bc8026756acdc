"""Where a point can't hold, because the API upstream has no place for it. Each is tested: it must still fail."""

from typing import Any

import pytest

WIRES = ("openai", "anthropic", "ollama", "gemini")

EXCEPTIONS: dict[tuple[str, str], str] = {
    ("A_usage_cache", "ollama"): "Ollama does not tell which tokens it had in its cache.",
    ("A_refusal", "ollama"): "Ollama has no word for a refusal.",
    ("B_billing_header", "anthropic"): "The header is meant for this very API, which gets the client's own blocks.",
    ("B_choice_any", "ollama"): "Ollama has no tool choice.",
    ("B_choice_tool", "ollama"): "Ollama has no tool choice; it is offered that tool alone.",
    ("B_no_parallel", "ollama"): "Ollama has no such option.",
    ("B_no_parallel", "gemini"): "Gemini has no such option.",
    ("B_image_url", "ollama"): "Ollama takes images as bytes alone; the client is told so.",
}


def point_of(function_name: str) -> str:
    """`test_b_no_parallel__...` is the point B_no_parallel."""
    name = function_name.removeprefix("test_").partition("__")[0]
    return name[0].upper() + name[1:]


def wires_for(function_name: str) -> list[Any]:
    point = point_of(function_name)
    return [
        pytest.param(wire, marks=pytest.mark.xfail(reason=why, strict=True, raises=AssertionError))
        if (why := EXCEPTIONS.get((point, wire)))
        else wire
        for wire in WIRES
    ]
