"""What the tools of a server look like to a model, and what they answer."""

import json
import logging
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from ai_battle.core.messages import Image, Text
from ai_battle.tools.mcp.links import INHERITED

from .conftest import Running, Toolbox, program, run, until

shared = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shop(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Toolbox]:
    """One server for several tests, because it takes a second to start."""
    base = tmp_path_factory.mktemp("base")
    (base / "data").mkdir()
    with pytest.MonkeyPatch.context() as ours:
        ours.setenv("OPENAI_API_KEY", "sk-of-ours")
        async with run(base, shop=program("shop", cwd="data", env={"TOKEN": "theirs"})) as tools:
            yield tools


@shared
async def test_structured_content_texts_images_and_errors_come_back(shop: Toolbox) -> None:
    price = await shop.call("shop:price", item="tea")
    prices = await shop.call("shop:prices")
    bought = await shop.call("shop:buy", item="tea", count="2")
    failed = await shop.call("shop:buy", item="moon")
    picture = await shop.call("shop:picture")
    everything = await shop.call("shop:everything")

    assert json.loads(price.text) == {"item": "tea", "cents": 250}
    assert json.loads(prices.text) == {"result": [{"item": "tea", "cents": 250}, {"item": "salt", "cents": 90}]}
    assert json.loads(bought.text) == {"result": "bought 2 of tea"}
    assert failed.is_error
    assert picture.parts == (
        Text('{"result": "a pixel", "images": ["image 1 (image/png)"]}'),
        Image("image/png", b"\x89PNG\r\n\x1a\n a picture"),
    )
    for said in ("a sound", "can't be read", "[catalogue: shop://catalogue]", "No refunds."):
        assert said in everything.text


@shared
async def test_a_tool_writes_unless_its_server_says_that_it_only_reads(shop: Toolbox) -> None:
    tools = [shop.registry.get_tool(f"shop:{name}") for name in ("price", "buy")]

    assert [tool and tool.writes for tool in tools] == [False, True]


@shared
async def test_a_server_is_given_few_variables_and_works_in_its_folder(shop: Toolbox) -> None:
    given = json.loads((await shop.call("shop:environment")).text)
    folder = json.loads((await shop.call("shop:folder")).text)["result"]

    assert given["TOKEN"] == "theirs"
    assert set(given) <= {*INHERITED, "TOKEN"}
    assert folder.endswith(os.path.join("base0", "data"))


async def test_a_call_that_takes_too_long_is_given_up_and_the_server_stops_it(
    running: Running, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "ai_battle")
    mark = tmp_path / "mark"
    async with running(shop=program("shop", timeout=3)) as shop:
        result = await shop.call("shop:wait", mark=str(mark), seconds=300)
        await until(mark.exists)
        again = await shop.call("shop:wait", mark=str(mark), seconds=0.1)

    assert "shop:wait did not answer within 3 s" in result.text
    assert not again.is_error
    assert "wait: 1 of 10 waiting" in caplog.messages


@shared
async def test_tools_come_and_go_while_the_server_runs(shop: Toolbox, running: Running) -> None:
    """By the newer protocol and by the older one."""
    async with running(old=program("odd", "changes")) as tools:
        await shop.call("shop:extend")
        await tools.call("old:grow")
        await until(lambda: "shop:where" in shop.registry.names)
        await until(lambda: "old:grown" in tools.registry.names)

        assert not {"shop:folder", "old:grow"} & {*shop.registry.names, *tools.registry.names}
        assert not (await shop.call("shop:where")).is_error
        assert "Tool not found: old:grow" in (await tools.call("old:grow")).text


async def test_names_as_odd_as_they_may_be_are_offered_or_left_out_with_a_word(running: Running) -> None:
    async with running(odd=program("odd", "odd_names")) as tools:
        names = [name for name in tools.registry.names if len(name) < 100]
        answers = [await tools.call(name) for name in tools.registry.names]

    assert names == ["odd:get weather/now", "odd:wetter.für.morgen", "odd:same"]
    assert [answer.text for answer in answers] == ['{"result": "here"}'] * 4
    assert ["has no name" in tools.warnings[0], "'odd:same'" in tools.warnings[1]] == [True, True]


async def test_a_tool_whose_schema_is_none_is_left_out(running: Running) -> None:
    async with running(odd=program("odd", "bad_schemas")) as tools:
        assert tools.registry.names == ["odd:good"]

    (warning,) = tools.warnings
    assert "odd:bad are not a JSON Schema" in warning


async def test_equal_names_of_two_servers_are_two_tools_in_the_order_of_the_file(running: Running) -> None:
    async with running(b=program("odd", "flood"), c=program("odd", "flood")) as tools:
        assert tools.registry.names == ["b:quiet", "c:quiet"]


async def test_what_is_no_tool_costs_itself_alone(running: Running) -> None:
    async with running(odd=program("odd", "no_schema")) as tools:
        assert tools.registry.names == ["odd:fine"]
        assert not (await tools.call("odd:fine")).is_error

    told = "\n".join(tools.warnings)
    for name in ("'none': inputSchema", "'list': inputSchema.type must be 'object'", "None: name", "'no tool at all'"):
        assert name in told


async def test_tools_that_would_fill_every_request_are_left_out_by_name(running: Running) -> None:
    async with running(odd=program("odd", "huge")) as tools:
        names = tools.registry.names
        size = sum(len(json.dumps(spec.schema)) for spec in tools.registry.specs)

    told = "\n".join(tools.warnings)
    assert names[:2] == ["odd:small", "odd:large0"]
    assert size < 400_000
    assert "odd:huge: its description and schema have 1,000," in told
    assert "odd:large19: all tools of the server together have more than 400,000 characters" in told


@shared
async def test_a_picture_is_what_it_shows_and_not_what_it_is_called(shop: Toolbox) -> None:
    result = await shop.call("shop:wrong_types")

    assert [part.media_type for part in result.parts if isinstance(part, Image)] == ["image/jpeg"]
    assert "an image (image/png) of 20 bytes, which is none that models can see" in result.text
