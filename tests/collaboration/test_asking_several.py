"""Peer, council, vote and cascade over real loopback servers: who is asked how often, and whose answer is served."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from ai_battle.collaboration import Helping, HelpLimits, cascade, council, peer, vote
from ai_battle.core.client import ModelClient
from ai_battle.core.errors import ConfigError, ProviderError
from ai_battle.core.events import DraftDelta, EventLog, TextDelta
from ai_battle.core.exchange import ToolSpec
from ai_battle.core.helping import DraftDropped, HelpAsked, HelpFailed, StuckFound
from ai_battle.judging.detector import StuckDetector
from ai_battle.providers.scripted import ScriptedClient
from ai_battle.testing import Reply, call, contract, fault, reply

from .models import SHORT, USELESS, Models, model_request

HARD_CHECKS = StuckDetector(threshold=0)
"""Finds what is cut off, empty or a loop, and has no doubts about the rest."""
CUT = reply("Let me see: 7 and 11 make", stop="length")


def of(models: Models, make: Callable[..., ModelClient], **options: Any) -> ModelClient:
    """The strategy over all four models."""
    small, second, third, large = map(models.client, models.all)
    options.setdefault("stuck_detector", HARD_CHECKS)
    beside: dict[str, Any] = {"peer": {"peers": [second]}, "council": {"peers": [second, third]}, "vote": {}}
    name = make.__module__.rpartition(".")[2]
    if name == "cascade":
        return make(small, large, models=[second], **options)
    return make(small, large, **beside[name], **options)


def kinds(log: EventLog, kind: type) -> list[Any]:
    return [event for event in log.events if isinstance(event, kind)]


# -- peer


async def test_two_that_agree_need_nobody_else(models: Models) -> None:
    models.peer.says("#### 18")
    client = of(models, peer.create)
    response = await client.complete(model_request(), log := EventLog())
    await client.aclose()

    assert (response.text, models.calls) == ("The answer is 18.", (1, 1, 0, 0))
    assert [drop.role for drop in kinds(log, DraftDropped)] == ["peer"]
    assert not kinds(log, StuckFound)


async def test_where_two_differ_the_large_model_answers(models: Models) -> None:
    models.peer.says("#### 20")
    models.large.says("They are 18.")
    client = of(models, peer.create)
    response = await client.complete(model_request(), log := EventLog())
    await client.aclose()

    assert (response.text, models.calls) == ("They are 18.", (1, 1, 0, 1))
    assert kinds(log, StuckFound)[0].reason == "no two agree: '18', '20'"
    assert [drop.role for drop in kinds(log, DraftDropped)] == ["own", "peer"]
    assert log.text == "They are 18."


async def test_without_a_large_model_the_likelier_answer_is_served(models: Models) -> None:
    models.small.says(CUT)
    client = peer.create(models.client(models.small), peers=[models.client(models.peer)], stuck_detector=HARD_CHECKS)
    response = await client.complete(model_request())
    await client.aclose()
    assert (response.text, models.calls) == ("The answer is 18.", (1, 1, 0, 0))


@pytest.mark.parametrize("useless", USELESS)
async def test_without_the_peer_the_detector_decides(models: Models, useless: str) -> None:
    models.peer.says(USELESS[useless])
    client = of(models, peer.create, helping=SHORT)
    response = await client.complete(model_request(), log := EventLog())
    await client.aclose()
    assert (response.text, models.calls) == ("The answer is 18.", (1, 1, 0, 0))
    assert len(kinds(log, HelpFailed)) == 1


async def test_a_peer_is_asked_the_same_and_is_not_shown_the_attempt(models: Models) -> None:
    client = of(models, peer.create)
    await client.complete(model_request(system="Be brief."))
    await client.aclose()
    body = str(models.peer.questions[0].body)
    assert "How many are 7 and 11?" in body
    assert "Be brief." in body
    assert "The answer is 18." not in body


# -- all of them, when help fails


DIVIDED = {
    peer.create: (1, 1, 0, 1),
    council.create: (1, 1, 1, 1),
    vote.create: (3, 0, 0, 1),
}


def divide(models: Models) -> None:
    models.small.says("#### 18", "#### 19", "#### 17")
    models.peer.says("#### 20")
    models.third.says("#### 21")


@pytest.mark.parametrize("useless", USELESS)
@pytest.mark.parametrize("make", DIVIDED, ids=lambda make: make.__module__.rpartition(".")[2])
async def test_where_the_large_model_brings_nothing_the_best_own_answer_stands(
    models: Models, make: Callable[..., ModelClient], useless: str
) -> None:
    divide(models)
    models.large.says(USELESS[useless])
    client = of(models, make, helping=SHORT)
    response = await client.complete(model_request(), log := EventLog())
    await client.aclose()

    assert models.calls == DIVIDED[make]
    assert response.text.startswith("#### ")
    assert len(kinds(log, HelpFailed)) == 1
    assert log.text == response.text


@pytest.mark.parametrize("make", DIVIDED, ids=lambda make: make.__module__.rpartition(".")[2])
async def test_where_opinions_are_divided_the_large_model_answers(
    models: Models, make: Callable[..., ModelClient]
) -> None:
    divide(models)
    client = of(models, make)
    response = await client.complete(model_request(), log := EventLog())
    await client.aclose()
    assert (response.text, models.calls) == ("The answer is 18.", DIVIDED[make])
    assert response.usage.total_tokens == sum(
        event.usage.total_tokens for event in kinds(log, DraftDropped)
    ) + len_of_answer(models)


def len_of_answer(models: Models) -> int:
    """Returns what the answer of the large model came to, by the fake's own count."""
    asked_size = len(models.large.questions[0].raw) // 4 + 1
    return asked_size + (len("The answer is 18.") + 3) // 4


@pytest.mark.parametrize("make", [peer.create, council.create, vote.create, cascade.create])
async def test_the_primary_failing_is_the_turn_failing(models: Models, make: Callable[..., ModelClient]) -> None:
    models.small.always(fault("http_400"))
    client = of(models, make)
    with pytest.raises(ProviderError):
        await client.complete(model_request())
    await client.aclose()


@pytest.mark.parametrize("make", [peer.create, council.create, vote.create, cascade.create])
async def test_an_answer_that_was_cut_off_is_not_served_while_there_is_a_better_one(
    models: Models, make: Callable[..., ModelClient]
) -> None:
    models.small.always(CUT)
    client = of(models, make)
    response = await client.complete(model_request())
    await client.aclose()
    assert response.text == "The answer is 18."


@pytest.mark.parametrize("make", [peer.create, council.create, cascade.create])
async def test_the_limit_of_calls_holds_and_the_best_own_answer_stands(
    models: Models, make: Callable[..., ModelClient]
) -> None:
    models.small.says(CUT)
    helping = Helping(limits=HelpLimits(calls=0))
    client = of(models, make, helping=helping)
    response = await client.complete(model_request(), log := EventLog())
    await client.aclose()
    assert (response.text, models.calls) == (CUT.text, (1, 0, 0, 0))
    assert "limit of calls" in kinds(log, HelpFailed)[0].reason


@pytest.mark.parametrize("make", [peer.create, council.create, cascade.create])
@pytest.mark.parametrize("silence", [reply(""), fault("length", reply=reply("", stop="length"))])
async def test_a_primary_that_says_nothing_is_helped_like_a_poor_one(
    models: Models, make: Callable[..., ModelClient], silence: Reply
) -> None:
    models.small.always(silence)
    client = of(models, make)
    response = await client.complete(model_request(), log := EventLog())
    await client.aclose()
    assert response.text == log.text == "The answer is 18."


async def test_silence_is_an_error_where_nobody_else_says_anything(models: Models) -> None:
    for fake in (models.small, models.peer, models.large):
        fake.always(reply(""))
    client = of(models, peer.create)
    with pytest.raises(ProviderError):
        await client.complete(model_request())
    await client.aclose()


# -- council


async def test_of_answers_that_can_not_be_compared_the_first_is_judged_and_its_quality_told(models: Models) -> None:
    models.small.says("A field has 7 * 11 = 78 rows, and so the farmer needs 78 bags of seed for all of it.")
    models.peer.says("A farmer walks the rows first, and counts the bags of seed that the field will take.")
    models.third.says("Seed is sown in rows, since weeds are easier to see and to pull out between them.")
    models.large.says("Farms feed us all.")
    client = of(models, council.create, stuck_detector=StuckDetector(max_retries=1))
    response = await client.complete(model_request("Tell me how a farmer sows a field."), log := EventLog())
    await client.aclose()

    (found,) = kinds(log, StuckFound)
    assert (response.text, found.reason) == ("Farms feed us all.", "a sum in it does not hold.")
    assert found.quality < 0.5, "the quality is that of the answer with the wrong sum"


async def test_the_plurality_is_served_though_the_primary_is_outvoted(models: Models) -> None:
    models.small.says("#### 20")
    client = of(models, council.create)
    response = await client.complete(model_request(), log := EventLog())
    await client.aclose()

    assert (response.text, models.calls) == ("The answer is 18.", (1, 1, 1, 0))
    assert sorted(drop.role for drop in kinds(log, DraftDropped)) == ["own", "peer"]
    assert not any(event.strategy != "council" for event in kinds(log, HelpAsked))


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("How many rolls are 7 trays of 24 rolls?", "7 * 24 = 158 rolls. The answer is 158."),
        ("Write a Python function that doubles a number.", "```python\ndef double(x:\n    return 2 * x\n```"),
    ],
)
async def test_no_number_of_votes_makes_good_what_is_false_by_itself(models: Models, prompt: str, said: str) -> None:
    for fake in (models.small, models.peer, models.third):
        fake.always(said)
    models.large.says("That is another matter.")
    client = of(models, council.create, stuck_detector=StuckDetector())
    response = await client.complete(model_request(prompt))
    await client.aclose()

    assert (response.text, models.calls[-1]) == ("That is another matter.", 1)


async def test_one_that_holds_is_served_before_two_that_agree_on_what_is_false(models: Models) -> None:
    models.small.always("7 * 24 = 158 rolls. The answer is 158.")
    models.peer.always("7 * 24 = 158 rolls. The answer is 158.")
    models.third.always("7 * 24 = 168 rolls. The answer is 168.")
    clients = [models.client(fake) for fake in (models.small, models.peer, models.third)]
    client = council.create(clients[0], None, peers=clients[1:])
    response = await client.complete(model_request("How many rolls are 7 trays of 24 rolls?"))
    await client.aclose()

    assert "168" in response.text


async def test_the_reserve_is_asked_only_where_opinions_are_divided(models: Models) -> None:
    reserve = ScriptedClient("#### 18", "#### 18", "#### 18")
    client = council.create(
        *map(models.client, (models.small, models.large)),
        peers=[models.client(models.peer), models.client(models.third)],
        models=[reserve],
        stuck_detector=HARD_CHECKS,
    )
    await client.complete(model_request())
    assert (models.calls, len(reserve.requests)) == ((1, 1, 1, 0), 0)

    models.small.says("#### 18")
    models.peer.says("#### 19")
    models.third.says("#### 20")
    assert (await client.complete(model_request())).text == "#### 18"
    assert (models.calls, len(reserve.requests)) == ((2, 2, 2, 0), 1)

    models.small.says("#### 19")
    models.peer.says("#### 19")
    models.large.says("They are 18.")
    assert (await client.complete(model_request())).text == "They are 18."
    assert (models.calls, len(reserve.requests)) == ((3, 3, 3, 1), 2)
    await client.aclose()


async def test_a_member_that_fails_has_no_vote(models: Models) -> None:
    models.third.says(fault("http_500"))
    client = of(models, council.create)
    response = await client.complete(model_request(), log := EventLog())
    await client.aclose()
    assert (response.text, models.calls) == ("The answer is 18.", (1, 1, 1, 0))
    assert len(kinds(log, HelpFailed)) == 1


async def test_tool_calls_are_voted_on(models: Models) -> None:
    tool = ToolSpec("look", schema={"type": "object", "properties": {"what": {"type": "string"}}})
    models.small.says(call("look", what="moon"))
    models.peer.says(call("look", what="sun"))
    models.third.says(call("look", what="sun"))
    client = of(models, council.create)
    response = await client.complete(model_request("Look at the sun.", tools=(tool,)))
    await client.aclose()
    assert [dict(made.arguments) for made in response.tool_calls] == [{"what": "sun"}]
    assert models.calls == (1, 1, 1, 0)


async def test_long_free_text_is_left_to_the_detector(models: Models) -> None:
    for number, fake in enumerate(models.all):
        fake.says(f"{number} is a fine number to begin a story with. " + " ".join(f"word{n}" for n in range(150)))
    client = of(models, council.create)
    response = await client.complete(model_request("Tell me a story."))
    await client.aclose()
    assert response.text.startswith("0 is")
    assert models.calls == (1, 1, 1, 0)


async def test_only_the_primary_is_heard_while_several_answer(models: Models) -> None:
    models.small.says("One two 18")
    models.peer.says("Three four 18")
    models.third.says("Five six 18")
    client = of(models, council.create)
    await client.complete(model_request(), log := EventLog())
    await client.aclose()
    assert "".join(event.text for event in kinds(log, DraftDelta)) == "One two 18"
    assert "".join(event.text for event in kinds(log, TextDelta)) == "One two 18"


# -- vote


async def test_samples_are_calls_of_their_own_with_seeds_and_a_temperature(models: Models) -> None:
    models.small.says("#### 17", "#### 18", "#### 18")
    client = of(models, vote.create, samples=3)
    response = await client.complete(model_request(options={"seed": 5, "temperature": 0}))
    await client.aclose()

    options = sorted((request.body["options"] for request in models.small.questions), key=lambda each: each["seed"])
    assert [each["seed"] for each in options] == [5, 6, 7]
    assert [each["temperature"] for each in options] == [0, 0.7, 0.7]
    assert (response.text, models.calls) == ("#### 18", (3, 0, 0, 0))


async def test_a_sample_that_fails_is_one_vote_less(models: Models) -> None:
    script = ScriptedClient("#### 18", {"fail": "rate_limited"}, "#### 18")
    response = await vote.create(script, samples=3, stuck_detector=HARD_CHECKS).complete(model_request())
    assert (response.text, len(script.requests)) == ("#### 18", 3)


FORM = {"type": "object", "properties": {"people": {"type": "integer"}}, "required": ["people"]}
FITS = '{"people": 134000}'


@pytest.mark.parametrize("misfit", ["Bern has 134,000.", '{"city": "Bern"}'], ids=["prose", "other keys"])
async def test_the_only_answer_of_the_requested_form_needs_no_votes_of_others(models: Models, misfit: str) -> None:
    models.small.says(misfit, FITS, misfit)
    client = of(models, vote.create, samples=3)
    request = model_request("How many people live in Bern?", output_schema=FORM)
    response = await client.complete(request, log := EventLog())
    await client.aclose()

    assert (response.text, models.calls) == (FITS, (3, 0, 0, 0))
    assert all("schema" in drop.reason or "JSON" in drop.reason for drop in kinds(log, DraftDropped))


async def test_an_answer_of_a_wrong_form_is_served_before_none_at_all(models: Models) -> None:
    models.small.says("")
    models.peer.says('{"city": "Bern"}')
    client = peer.create(models.client(models.small), None, peers=[models.client(models.peer)])
    response = await client.complete(model_request("How many people live in Bern?", output_schema=FORM))
    await client.aclose()

    assert response.text == '{"city": "Bern"}'


async def test_a_call_of_a_tool_that_is_there_needs_no_votes_for_one_that_is_not(models: Models) -> None:
    tool = ToolSpec("look", schema={"type": "object", "properties": {"what": {"type": "string"}}})
    models.small.says(call("lok", what="sun"))
    models.peer.says(call("look", what="sun"))
    client = of(models, peer.create)
    response = await client.complete(model_request("Look at the sun.", tools=(tool,)))
    await client.aclose()

    assert [made.name for made in response.tool_calls] == ["look"]
    assert models.calls == (1, 1, 0, 0)


# -- cascade


async def test_a_cascade_stops_at_the_first_answer_that_will_do(models: Models) -> None:
    client = of(models, cascade.create)
    assert (await client.complete(model_request())).text == "The answer is 18."
    assert models.calls == (1, 0, 0, 0)

    models.small.says(CUT)
    await client.complete(model_request(), log := EventLog())
    assert models.calls == (2, 1, 0, 0)
    assert len(kinds(log, StuckFound)) == 1

    models.small.says(CUT)
    models.peer.says(CUT)
    models.large.says("They are 18.")
    response = await client.complete(model_request(), log := EventLog())
    await client.aclose()
    assert (response.text, models.calls) == ("They are 18.", (3, 2, 0, 1))
    assert len(kinds(log, StuckFound)) == 2
    assert [event.role for event in kinds(log, DraftDropped)] == ["own", "helper"]


@pytest.mark.parametrize("useless", USELESS)
async def test_models_of_a_cascade_that_bring_nothing_are_passed_over(models: Models, useless: str) -> None:
    models.small.says(CUT)
    models.peer.says(USELESS[useless])
    client = of(models, cascade.create, helping=SHORT)
    response = await client.complete(model_request())
    await client.aclose()
    assert (response.text, models.calls) == ("The answer is 18.", (1, 1, 0, 1))


@pytest.mark.parametrize("useless", USELESS)
async def test_where_all_of_a_cascade_bring_nothing_the_first_answer_stands(models: Models, useless: str) -> None:
    models.small.says(CUT)
    models.peer.says(USELESS[useless])
    models.large.says(USELESS[useless])
    client = of(models, cascade.create, helping=SHORT)
    response = await client.complete(model_request())
    await client.aclose()
    assert (response.text, models.calls) == (CUT.text, (1, 1, 0, 1))


# -- all of them


@pytest.mark.parametrize(
    ("make", "options", "problem"),
    [
        (peer.create, {}, "one model in 'peers', not 0"),
        (peer.create, {"peers": [ScriptedClient(), ScriptedClient()]}, "not 2; for several there is council"),
        (council.create, {"peers": [ScriptedClient()]}, "for one there is peer"),
        (vote.create, {"samples": 1}, "two samples or more"),
        (cascade.create, {}, "at least one model besides the primary"),
    ],
)
def test_what_makes_no_sense_is_told_when_it_is_made(
    make: Callable[..., ModelClient], options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        make(ScriptedClient(), **options)


WRAPPERS: dict[str, Callable[[ModelClient], ModelClient]] = {
    "peer": lambda inner: peer.create(inner, ScriptedClient("B", loop=True), peers=[ScriptedClient("C", loop=True)]),
    "council": lambda inner: council.create(
        inner, ScriptedClient("B", loop=True), peers=[ScriptedClient(each, loop=True) for each in ("C", "D")]
    ),
    "vote": lambda inner: vote.create(inner, ScriptedClient("B", loop=True), samples=3),
    "cascade": lambda inner: cascade.create(inner, ScriptedClient("B", loop=True)),
}
NESTED: dict[str, Callable[[ModelClient], ModelClient]] = {
    "peer over council over vote": lambda inner: WRAPPERS["peer"](WRAPPERS["council"](WRAPPERS["vote"](inner))),
    "council over vote over cascade": lambda inner: WRAPPERS["council"](WRAPPERS["vote"](WRAPPERS["cascade"](inner))),
    "vote over cascade over peer": lambda inner: WRAPPERS["vote"](WRAPPERS["cascade"](WRAPPERS["peer"](inner))),
    "cascade over peer over council": lambda inner: WRAPPERS["cascade"](WRAPPERS["peer"](WRAPPERS["council"](inner))),
}


def three_times(name: str) -> Callable[[ModelClient], ModelClient]:
    return lambda inner: WRAPPERS[name](WRAPPERS[name](WRAPPERS[name](inner)))


THREE = {f"three of {name}": three_times(name) for name in WRAPPERS}


@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
@pytest.mark.parametrize("name", [*WRAPPERS, *NESTED, *(pytest.param(name, marks=pytest.mark.slow) for name in THREE)])
async def test_alone_and_nested_they_keep_the_contract(name: str, check: contract.Check) -> None:
    wrap = {**WRAPPERS, **NESTED, **THREE}[name]
    await check(contract.wrapper(wrap))
    await check(contract.wrapper(wrap, "A plain answer that goes"))


@pytest.mark.slow
@pytest.mark.parametrize("name", WRAPPERS)
async def test_two_hundred_runs_at_once_don_t_get_in_each_other_s_way(name: str) -> None:
    """One client for all: each run hears and gets its own answer, and nothing of another's is counted in."""

    def echo(request: Any) -> str:
        return f"The answer is {request.messages[0].text.split()[-1]}."

    clients: dict[str, Callable[[], ModelClient]] = {
        "peer": lambda: peer.create(ScriptedClient(echo, loop=True), peers=[ScriptedClient(echo, loop=True)]),
        "council": lambda: council.create(
            ScriptedClient(echo, loop=True), peers=[ScriptedClient(echo, loop=True) for _ in "ab"]
        ),
        "vote": lambda: vote.create(ScriptedClient(echo, loop=True)),
        "cascade": lambda: cascade.create(ScriptedClient(echo, loop=True), ScriptedClient(echo, loop=True)),
    }
    client = clients[name]()
    alone = await client.complete(model_request("Say how many: 1000"))
    logs = [EventLog() for _ in range(200)]
    answers = await asyncio.gather(
        *(client.complete(model_request(f"Say how many: {1000 + n}"), log) for n, log in enumerate(logs))
    )
    assert [response.text for response in answers] == [f"The answer is {1000 + n}." for n in range(200)]
    assert [log.text for log in logs] == [response.text for response in answers]
    assert {response.usage for response in answers} == {alone.usage}


def test_a_detector_of_one_s_own_decides() -> None:
    assert peer.create(ScriptedClient(), peers=[ScriptedClient()], stuck_detector=StuckDetector(0.2))
