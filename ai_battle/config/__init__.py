"""Configuration: YAML or a dictionary in, a checked `Loaded` or one `ConfigError` with every problem out."""

from typing import TYPE_CHECKING

from ..core.lazy import names_of
from .discussion import DiscussionFile
from .documents import Source, environment_redactor
from .loading import Loaded, load
from .packaged import packaged_config, packaged_names
from .problems import ConfigProblems, Located, Problem

if TYPE_CHECKING:
    from .editors import json_schema

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

# The schemas of servers and benchmarks, which it describes as well, are a tenth of the start of a discussion.
__getattr__ = names_of(__name__, {"editors": ("json_schema",)})
