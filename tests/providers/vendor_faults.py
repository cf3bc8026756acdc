"""All that the servers of the four APIs are documented or known to do wrong, met by their clients.

Counted by: python -m tests.providers.vendor_faults
"""

import asyncio
import sys
from collections.abc import Iterable, Iterator

from .fault_scenes import Scene, for_good, in_passing, scenes, wrong_answer
from .vendor_answers import answers
from .vendor_bodies import ALL, VendorFault
from .vendor_errors import errors
from .vendor_streams import streams

VENDOR_FAULTS = (*errors(), *answers(), *streams())


def _scenes(wire: str, faults: Iterable[VendorFault]) -> Iterator[tuple[Scene, VendorFault]]:
    for found in faults:
        for scene in scenes(found.fault, found.row):
            if scene.wire == wire and found.streamed in (None, scene.streamed):
                yield scene, found


async def check_errors(wire: str) -> list[str]:
    """Returns what is wrong with each call whose fault stays; empty where the error is as it has to be."""
    faults = [found for found in VENDOR_FAULTS if found.row.error]
    return await asyncio.gather(*(for_good(scene, *found.says) for scene, found in _scenes(wire, faults)))


async def check_retries(wire: str) -> list[str]:
    """Returns what is wrong with each call whose fault passes; empty where the answer is as it has to be."""
    faults = [found for found in VENDOR_FAULTS if found.row.error and found.row.again != "never"]
    return await asyncio.gather(*(in_passing(scene) for scene, _ in _scenes(wire, faults)))


async def check_answers(wire: str) -> list[str]:
    """Returns what is wrong with each call whose answer is untidy; empty where it is read."""
    faults = [found for found in VENDOR_FAULTS if found.gives]
    return await asyncio.gather(*(wrong_answer(scene, found.gives) for scene, found in _scenes(wire, faults)))


async def print_counts() -> None:
    """Prints a row for each API: of how many calls each kind is, and how many of them end as they have to."""
    print("| API | Errors reported | Faults survived | Untidy answers read |\n|---|--:|--:|--:|")
    for wire in ALL:
        found = [await check(wire) for check in (check_errors, check_retries, check_answers)]
        print(f"| {wire} | {' | '.join(f'{each.count(str())} of {len(each)}' for each in found)} |")
        print(*(wrong for each in found for wrong in each if wrong), sep="\n", file=sys.stderr)


if __name__ == "__main__":
    asyncio.run(print_counts())
