"""Tells before the first call where nothing listens: a connection is opened, and nothing is sent."""

import asyncio
from collections.abc import Iterable

from ..core.errors import Unreachable
from .models import Model


async def unreachable(models: Iterable[tuple[str, Model]]) -> list[str]:
    """A sentence for each address where nothing listens, which names those who need it."""
    names: dict[str, list[str]] = {}
    needed: dict[str, Model] = {}
    for name, model in models:
        names.setdefault(model.upstream, []).append(name)
        needed[model.upstream] = model
    faults = await asyncio.gather(*map(_fault, needed.values()))
    return [f"{', '.join(names[where])}: {fault}" for where, fault in zip(needed, faults, strict=True) if fault]


async def _fault(model: Model) -> str:
    try:
        await model.require_listener()
    except Unreachable as error:
        return str(error)
    return ""
