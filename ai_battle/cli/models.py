"""`ai-battle models`: lists models, shows what is known of one, and probes what it can do."""

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import click

from ..assembly.models import create_client
from ..core.client import ModelClient
from ..core.errors import ConfigError, ProviderError
from ..core.events import EventLog, TextDelta
from ..core.exchange import ModelRequest, ModelResponse, ToolSpec, object_schema
from ..core.messages import user
from ..providers._capabilities import NAMES, ListedModel, ModelCapabilities, capabilities, list_models
from ..providers._endpoints import known_providers, provider_traits
from ..providers._names import ModelName, parse
from ..providers._prices import FREE_PRICE, TokenPrice, price
from .arguments import MODEL
from .options import as_json
from .output import print_json, show_rows


@dataclass(frozen=True, slots=True)
class SurveyedProvider:
    """A provider's `state`: ready, not set up (no key or address), or out of reach for the reason in `message`."""

    provider: str
    state: Literal["ready", "not set up", "out of reach"]
    models: tuple[ListedModel, ...] = ()
    message: str = ""


def survey(providers: Sequence[str] = ()) -> Sequence[SurveyedProvider]:
    """Asks `providers`, by default all that can be asked here."""
    traits = {name: provider_traits(name) for name in known_providers()}
    chosen = providers or [name for name, each in traits.items() if not (each.recited or each.human)]

    async def ask_all() -> Sequence[SurveyedProvider]:
        return await asyncio.gather(*map(_survey_one, chosen))

    return asyncio.run(ask_all())


async def _survey_one(provider: str) -> SurveyedProvider:
    try:
        return SurveyedProvider(provider, "ready", await list_models(provider))
    except ConfigError as error:
        return SurveyedProvider(provider, "not set up", message=str(error))
    except ProviderError as error:
        return SurveyedProvider(provider, "out of reach", message=str(error))


@click.group("models")
def command() -> None:
    """List the models in reach, and show or probe what one can do."""


@command.command("list")
@click.argument("providers", nargs=-1, metavar="[PROVIDER...]")
@as_json
def list_(providers: tuple[str, ...], as_json: bool) -> int:
    """Ask PROVIDERs, by default all that are set up, for their models."""
    found = survey(providers)
    if as_json:
        print_json({one.provider: _to_json(one) for one in found})
        return 0
    for one in found if providers else filter(_has_models, found):
        _show_list(one)
    if not any(map(_has_models, found)):
        click.echo("No models were found; ai-battle doctor says what is missing.", err=True)
        return 1
    return 0


@command.command("show")
@click.argument("type_", type=MODEL, metavar="TYPE")
@as_json
def show(type_: str, as_json: bool) -> None:
    """Show what is known of the model TYPE, and its source. TYPE is for example gpt-4o or ollama/phi4."""
    model = parse(type_)
    known = ModelFacts(model, asyncio.run(capabilities(model)), price(model))
    if as_json:
        print_json(known.to_json())
        return
    click.secho(known.title, bold=True)
    for name, value, source in known.rows:
        click.echo(f"  {name:18} {value:24} {click.style(source, dim=True)}".rstrip())
    for note in known.notes:
        click.echo(f"  ! {note}")


@command.command("probe")
@click.argument("type_", type=MODEL, metavar="TYPE")
@as_json
def probe(type_: str, as_json: bool) -> int:
    """Try streaming, tools and JSON output of the model TYPE. This calls the model three times."""
    results = asyncio.run(_probe(type_))
    if as_json:
        print_json([*map(asdict, results)])
    else:
        for result in results:
            mark = click.style("works", fg="green") if result.works else click.style("fails", fg="red")
            click.echo(f"  {result.name:10} {mark}  {result.seconds:5.1f} s  {result.message}")
    return 0 if all(result.works for result in results) else 1


def _show_list(found: SurveyedProvider) -> None:
    click.secho(f"{found.provider} ({len(found.models)})", bold=True)
    if found.message:
        click.echo(f"  {found.message}")
        return
    rows = (
        (f"  {model.name}", str(model.capabilities.get("context_window", "")), ", ".join(_abilities(model)))
        for model in found.models
    )
    show_rows(("  model", "window", "can"), rows, padding=(0, 2), show_header=bool(found.models))


def _has_models(found: SurveyedProvider) -> bool:
    return bool(found.models)


def _abilities(model: ListedModel) -> list[str]:
    return [name for name, value in model.capabilities.items() if value is True]


def _to_json(found: SurveyedProvider) -> dict[str, Any]:
    models = [{"name": model.name, **model.capabilities} for model in found.models]
    return {"state": found.state, "message": found.message, "models": models}


Row = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class ModelFacts:
    name: ModelName
    capabilities: ModelCapabilities
    price: TokenPrice | None

    @property
    def title(self) -> str:
        options = "".join(f", {key}: {value}" for key, value in self.name.options.items())
        return f"{self.name}{options}"

    @property
    def rows(self) -> Iterable[Row]:
        for name in NAMES:
            known = self.capabilities.known.get(name)
            yield (name, _value_text(known.value), known.source) if known else (name, "unknown", "")
        yield self._price_row()

    @property
    def notes(self) -> Iterable[str]:
        refused = ", ".join(sorted(self.capabilities.refused))
        return filter(None, (self.name.note, self.capabilities.note, refused and f"It refused lately: {refused}."))

    def to_json(self) -> dict[str, Any]:
        known = {name: {"value": k.value, "source": k.source} for name, k in self.capabilities.known.items()}
        cost = {"input": self.price.input, "output": self.price.output} if self.price else None
        return {
            "model": str(self.name),
            "options": dict(self.name.options),
            "capabilities": known,
            "price_per_million_tokens": cost,
            "notes": list(self.notes),
        }

    def _price_row(self) -> Row:
        if self.price is None:
            return "price", "unknown", "write it in the file's prices: section"
        if self.price == FREE_PRICE:
            return "price", "free", "it runs on your machine"
        return "price", f"${self.price.input:g} in, ${self.price.output:g} out", "per million tokens, genai-prices"


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


Judge = Callable[[ModelResponse, EventLog], str]
"""Returns what is wrong with an answer, or nothing if it is right."""

CLOCK = ToolSpec("clock", "The time at a place.", {"type": "object", "properties": {"place": {"type": "string"}}})
SUM = object_schema({"sum": {"type": "integer"}})


@dataclass(frozen=True, slots=True)
class ProbeResult:
    name: str
    works: bool
    seconds: float
    message: str


async def _probe(type_: str) -> Sequence[ProbeResult]:
    client = create_client(type_)
    trials: dict[str, tuple[ModelRequest, Judge]] = {
        "streaming": (ModelRequest((user("Count from one to ten, in words."),)), _check_streaming),
        "tools": (ModelRequest((user("What time is it in Oslo? Use the tool."),), tools=(CLOCK,)), _check_tools),
        "json": (ModelRequest((user("Add 2 and 3."),), output_schema=SUM), _check_json),
    }
    try:
        return [await _try(client, name, *trial) for name, trial in trials.items()]
    finally:
        await client.aclose()


async def _try(client: ModelClient, name: str, request: ModelRequest, judge: Judge) -> ProbeResult:
    started = time.monotonic()
    try:
        response = await client.complete(request, events := EventLog())
        fault = judge(response, events)
    except ProviderError as error:
        fault = str(error)
    return ProbeResult(name, not fault, time.monotonic() - started, fault)


def _check_streaming(response: ModelResponse, log: EventLog) -> str:
    pieces = sum(isinstance(event, TextDelta) for event in log.events)
    return "" if pieces > 1 else "the answer came in one piece"


def _check_tools(response: ModelResponse, log: EventLog) -> str:
    return "" if response.tool_calls else "it answered in text instead of calling the tool"


def _check_json(response: ModelResponse, log: EventLog) -> str:
    try:
        answer = json.loads(response.text)
    except ValueError:
        return "the answer is not JSON"
    return "" if isinstance(answer, dict) and isinstance(answer.get("sum"), int) else "the JSON does not fit the schema"
