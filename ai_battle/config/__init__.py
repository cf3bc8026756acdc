"""Configuration: YAML or a dictionary in, a checked `Loaded` or one `ConfigError` with every problem out."""

from .discussion import DiscussionFile
from .documents import Source, environment_redactor
from .editors import json_schema
from .loading import Loaded, load
from .packaged import packaged_config, packaged_names
from .problems import ConfigProblems, Located, Problem

__all__ = [
    "ConfigProblems",
    "DiscussionFile",
    "Loaded",
    "Located",
    "Problem",
    "Source",
    "environment_redactor",
    "json_schema",
    "load",
    "packaged_config",
    "packaged_names",
]
