"""Configuration: YAML or a dictionary in, a checked `Loaded` or one `ConfigError` with every problem out.

The schema of a discussion is loaded when it is asked for: who serves models does without it.
"""

from typing import TYPE_CHECKING

from ..core.lazy import names_of
from .packaged import packaged_config, packaged_names
from .problems import ConfigProblems, Located, Problem

if TYPE_CHECKING:
    from .documents import Source, environment_redactor
    from .editors import json_schema
    from .loading import Loaded, load

_HOME = {
    "documents": ("Source", "environment_redactor"),
    "editors": ("json_schema",),
    "loading": ("Loaded", "load"),
}

__all__ = [
    "ConfigProblems",
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

__getattr__ = names_of(__name__, _HOME)
