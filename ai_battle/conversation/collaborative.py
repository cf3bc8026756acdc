"""The manager of discussions whose models help each other."""

from .manager import ConversationManager


class CollaborativeConversationManager(ConversationManager):
    """The specification's name for the manager that a configuration with tools and collaboration is given to."""
