"""How one server's Chat Completions differ from what most servers speak."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quirks:
    """`max_tokens` is the field of that limit (OpenAI's own models want `max_completion_tokens`).

    `reasoning` is the field in which earlier reasoning goes back to the model, empty where it does not
    (`reasoning_content` for DeepSeek and Moonshot, `reasoning` for gpt-oss). `names` says that messages may carry
    the speaker's name, `usage` that a stream may be asked for its usage.
    """

    max_tokens: str = "max_tokens"
    reasoning: str = ""
    names: bool = True
    usage: bool = True


USUAL = Quirks()
