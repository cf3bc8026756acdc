"""The page of the model types, from the tables that read them."""

from collections.abc import Iterator

from ai_battle.providers import _names, anthropic, gemini, ollama
from ai_battle.providers._endpoints import ENDPOINTS, Endpoint, packaged_providers, provider_traits
from ai_battle.providers._names import CATALOGUE_DATE, catalogue

from .tables import code, codes, table

ROWS = {
    **ENDPOINTS, "anthropic": anthropic.ENDPOINT, "gemini": gemini.ENDPOINT, "ollama": ollama.ENDPOINT,
}  # fmt: skip
WHAT = {
    "anthropic": "Anthropic",
    "gemini": "Google Gemini",
    "ollama": "Ollama",
    "gguf": "llama.cpp in this process; `pip install 'ai-battle[local]'`",
    "scripted": "what `script:` and `when:` say",
    "replay": "a recording; the model is the path of its file",
    "azure": "Azure OpenAI; the model is the deployment",
    "groq": "Groq",
    "llamacpp": "llama.cpp's server",
    "lmstudio": "LM Studio",
    "mlx": "MLX's server",
    "openai": "OpenAI",
    "openrouter": "OpenRouter",
    "vllm": "vLLM",
}

TEXT = """# Model types

A participant's `type` names a provider and a model:

- `provider/model` or `provider:model`, for example `groq/llama-3.3-70b-versatile`. A name of your own in the
  `providers:` section of the file, with a `base_url`, is a provider too: any server with OpenAI's API.
- {dashed}: the same with a dash. `ollama-gemma3-1b` finds the local `gemma3:1b`.
- `path/to/file.gguf`, or the name of a GGUF file in one of the usual folders after `gguf/`.
- A well-known name alone: `gpt-4o`, `sonnet`, `gemini-2.5-flash`.

A suffix says how much the model thinks: `-reasoning-none`, `-reasoning-low`, `-reasoning-medium`, `-reasoning-high`;
{styles}. `parameters: {{reasoning: ...}}` says the same.
Without a level a suffix counts for well-known names only: `ollama/phi4-reasoning` is a model's own name.

A name that nobody knows is an error that lists near names; there is no silent fallback. After `provider/` a name that
is in none of the tables below is sent as it is, so new models need no new version of this package.
"""


def page() -> str:
    dashed = codes(f"{name}-NAME" for name in sorted(packaged_providers()) if provider_traits(name).dashed)
    known = catalogue()
    styles = ", ".join(f"`-{suffix}` is {level}" for suffix, level in _names._STYLES.items())
    return "\n\n".join(
        (
            TEXT.format(dashed=dashed, styles=styles),
            "## Providers\n\nKeys and addresses in the file's `providers:` section take precedence over these.",
            table(("provider", "what answers", "address", "variable for it", "key"), _providers()),
            f"## Well-known names\n\nAs of {CATALOGUE_DATE}.",
            table(("provider", "names"), ((code(provider), codes(names)) for provider, names in known.names.items())),
            "## Short names",
            table(
                ("you write", "what answers"),
                ((code(short), code(name)) for short, name in sorted(known.short.items())),
            ),
            "## Retired names\n\nTheir vendors have switched them off. The successor answers, and a note says so. "
            "Names with a date, a number or `-latest` at their end are found without it.",
            table(
                ("you write", "what answers"), ((code(old), code(new)) for old, new in sorted(known.retired.items()))
            ),
        )
    )


def _providers() -> Iterator[tuple[str, ...]]:
    for name, what in sorted(WHAT.items()):
        row = ROWS.get(name) or Endpoint(provider_traits(name))
        keys = row.traits.keys
        key = " or ".join(map(code, keys)) + ("" if row.needs_key or not keys else " (not needed)")
        yield code(name), what, code(row.base_url), " or ".join(map(code, row.urls)), key
