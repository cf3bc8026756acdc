"""Configuration: YAML or a dictionary in, a checked `Loaded` or one `ConfigError` with every problem out."""

from .editors import json_schema
from .loading import Loaded, Source, load
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
