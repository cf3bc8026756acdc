"""Values of every kind, for the tests of the wires."""

from typing import Any

from hypothesis import strategies as st

from ai_battle.core.messages import Document, Image, Message, Text, Thinking, ToolCall, ToolResult

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
names = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=12)
scalars = (
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | words
)
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3), max_leaves=6
)
objects = st.dictionaries(words, json_values, max_size=3)
extras: st.SearchStrategy[dict[str, Any]] = st.just({}) | st.dictionaries(
    st.sampled_from(["openai", "anthropic"]), objects, max_size=2
)
media = st.sampled_from(["image/png", "image/jpeg"])
texts = st.builds(Text, words, extra=extras)
images = st.builds(Image, media, st.binary(max_size=8), extra=extras) | st.builds(Image, media, url=words, extra=extras)
documents = st.builds(Document, st.just("application/pdf"), st.binary(max_size=8), words, words, extra=extras)
calls = st.builds(ToolCall, names, objects, names, words, extra=extras)
results = st.builds(ToolResult, calls, st.lists(texts | images, max_size=3).map(tuple), st.booleans(), extra=extras)
thoughts = st.builds(Thinking, words, words, extra=extras)
parts = texts | images | documents | calls | results | thoughts
messages = st.builds(
    Message,
    st.sampled_from(["system", "user", "assistant", "tool"]),
    st.lists(parts, max_size=4).map(tuple),
    words,
    extra=extras,
)
