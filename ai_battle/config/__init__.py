"""Configuration: YAML or a dictionary in, a checked `Loaded` or one `ConfigError` with every problem out."""

from .documents import Source
from .editors import json_schema
from .loading import Loaded, load
from .packaged import packaged, packaged_names
from .problems import ConfigProblems, Problem
from .schema import DiscussionFile

__all__ = [
    "ConfigProblems",
    "DiscussionFile",
    "Loaded",
    "Problem",
    "Source",
    "json_schema",
    "load",
    "packaged",
    "packaged_names",
]
