"""Where things are kept on this machine."""

import os
import sys
from pathlib import Path

from .errors import ConfigError


def cache_directory() -> Path:
    """Where this machine keeps what can be found out anew."""
    if stated := os.environ.get("XDG_CACHE_HOME"):
        return Path(stated) / "ai-battle"
    try:
        home = Path.home()
    except RuntimeError as error:
        raise ConfigError("There is no home directory; set XDG_CACHE_HOME to a folder that can be written.") from error
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "ai-battle"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "ai-battle" / "Cache"
    return home / ".cache" / "ai-battle"
