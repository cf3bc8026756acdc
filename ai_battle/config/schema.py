"""The schema of a discussion file: `discussion`, and what stands beside it."""

from pydantic import Field

from ._values import Section
from .discussion import Discussion
from .reaching import BaseDirectory, ContextWindows, Prices, Providers


class DiscussionFile(Section):
    """A discussion, and how its models are reached."""

    discussion: Discussion = Field(description="The conversation.")
    providers: Providers = Field(default={})
    prices: Prices = Field(default={})
    context_windows: ContextWindows = Field(default={})
    base_directory: BaseDirectory = ""

    @property
    def established_facts(self) -> object:
        return self.discussion.established_facts
