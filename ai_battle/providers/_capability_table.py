"""What well-known models can do, for when nobody better is at hand; the first pattern that fits counts."""

KNOWN_ON = "2026-11-20"

_ALL = {"tools": True, "images": True, "json_schema": True, "reasoning": True}
_READING = {**_ALL, "documents": True}
_NO_REASONING = {**_ALL, "reasoning": False}
_TOOLS = {"tools": True, "images": False, "reasoning": False, "json_schema": True}
_THINKING_TOOLS = {**_TOOLS, "reasoning": True}
_TEXT = {**_TOOLS, "tools": False}
_PICTURES = {**_TEXT, "images": True}

TABLE: tuple[tuple[str, dict[str, bool]], ...] = (
    ("openai/gpt-4o*", _NO_REASONING),
    ("openai/gpt-4.1*", _NO_REASONING),
    ("openai/gpt-*", _ALL),
    ("openai/o[0-9]*", _ALL),
    ("anthropic/claude-*", _READING),
    ("gemini/gemini-*", _READING),
    ("groq/openai/gpt-oss*", _THINKING_TOOLS),
    ("ollama/gpt-oss*", _THINKING_TOOLS),
    ("ollama/qwen3-vl*", _ALL),
    ("ollama/qwen3*", _THINKING_TOOLS),
    ("ollama/qwen2.5vl*", _PICTURES),
    ("ollama/qwen2.5*", _TOOLS),
    ("ollama/llama3.2-vision*", _PICTURES),
    ("ollama/llama3.[1-3]*", _TOOLS),
    ("ollama/llama4*", _NO_REASONING),
    ("ollama/mistral-small3*", _NO_REASONING),
    ("ollama/mistral*", _TOOLS),
    ("ollama/phi4-mini*", _TOOLS),
    ("ollama/phi4*", _TEXT),
    ("ollama/gemma3?1b*", _TEXT),
    ("ollama/gemma3*", _PICTURES),
    ("ollama/gemma2*", _TEXT),
    ("ollama/deepseek-r1*", {**_TEXT, "reasoning": True}),
    ("ollama/llava*", _PICTURES),
)

OUTPUT_LIMITS: tuple[tuple[str, int], ...] = (
    ("*gpt-3.5*", 4_096),
    ("*gpt-4o*", 16_384),
    ("*gpt-4.1*", 32_768),
    ("*gpt-4.5*", 16_384),
    ("*gpt-4*", 4_096),
    ("*gpt-5*", 128_000),
    ("openai/o1-preview*", 32_768),
    ("openai/o1-mini*", 65_536),
    ("openai/o[0-9]*", 100_000),
    ("*claude-3-5-*", 8_192),
    ("*claude-3-7-*", 64_000),
    ("*claude-3-*", 4_096),
    ("*claude-opus-4-[01]*", 32_000),
    ("*claude-*-4*", 64_000),
    ("*gemini-1.5*", 8_192),
    ("*gemini-2.0*", 8_192),
    ("*gemini-*", 65_536),
)
"""The longest answer of a model in tokens, its reasoning included."""
