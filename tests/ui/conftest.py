"""The page of a folder of one's own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ..reporting.test_browser import bait as bait
from .client import PageClient, page_of


@pytest.fixture
async def page(here: Path) -> AsyncIterator[PageClient]:
    async with page_of(here) as client:
        yield client
