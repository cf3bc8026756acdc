"""What helping came to is counted by turns, whatever happens between them and inside of them."""

import pytest

from ai_battle.conversation.help_account import HelpAccount
from ai_battle.core.events import Event, ModelReplied, TurnFinished, TurnStarted
from ai_battle.core.exchange import Usage
from ai_battle.core.helping import BoostStep, DraftDropped, HelpAsked, HelpFailed, HelpSummed, Role, StuckFound
from ai_battle.core.messages import assistant

EACH = Usage(10, 5, cost_usd=0.1)
STARTED = TurnStarted(1, 1, "small")
FINISHED = TurnFinished(1, 1, "small", assistant("Seven.", "small"), EACH, "phi4", 1.0)
ASKED = HelpAsked("takeover", "It is poor.", speaker="small")
PEER = HelpAsked("council", "To compare.", speaker="small", role="peer")
BOOST = HelpAsked("boost", "To plan.", speaker="small", role="boost")
STUCK = StuckFound(0.2, 0.5, "It is poor.", speaker="small")
FAILED = HelpFailed("takeover", "It is away.", speaker="small")


def model_reply(role: Role = "own") -> ModelReplied:
    return ModelReplied("phi4", EACH, 0.1, speaker="small", role=role)


def dropped_draft(role: Role = "own", calls: int = 1) -> DraftDropped:
    usage = Usage(10 * calls, 5 * calls, cost_usd=0.1 * calls)
    return DraftDropped("It is poor.", usage, role, speaker="small", calls=calls)


def help_account(*events: Event) -> HelpAccount:
    """On the large model, each token that is written costs a dollar."""
    help_ = HelpAccount({"small": lambda usage: float(usage.output_tokens)})
    for event in events:
        help_.apply(event)
    return help_


def help_sum(*events: Event) -> HelpSummed:
    found = help_account(*events).total()
    assert found
    return found


def test_a_turn_is_not_helped_because_the_choice_of_its_speaker_was() -> None:
    between = (model_reply(), ASKED, model_reply("helper"), dropped_draft())
    told = help_sum(*between, STARTED, model_reply(), FINISHED)

    assert (told.turns, told.helped, told.all_large_usd) == (1, 0, 5.0)


def test_what_a_turn_cost_that_was_interrupted_is_not_that_of_its_answer() -> None:
    told = help_sum(STARTED, model_reply(), dropped_draft(), ASKED, STARTED, model_reply(), FINISHED)

    assert (told.turns, told.helped, told.all_large_usd) == (1, 0, 5.0)
    assert {row["role"]: row["calls"] for row in told.rows} == {"own": 1, "wasted": 1}


def test_the_answer_of_a_peer_has_a_price_on_the_large_model() -> None:
    peers = (model_reply("peer"), model_reply("peer"), dropped_draft("peer"))

    assert help_sum(STARTED, model_reply(), *peers, dropped_draft(), FINISHED).all_large_usd == 5.0


def test_what_a_helper_advised_before_it_answered_is_no_part_of_the_answer() -> None:
    hint_and_plan = (ASKED, model_reply("helper"), model_reply(), dropped_draft()) * 2

    assert (
        help_sum(
            STARTED, model_reply(), *hint_and_plan, ASKED, model_reply("helper"), dropped_draft(), FINISHED
        ).all_large_usd
        == 5.0
    )


def test_an_answer_of_which_nothing_is_known_has_no_price() -> None:
    assert help_sum(STARTED, FINISHED).all_large_usd is None


def test_a_draft_that_was_made_with_tools_is_dropped_with_all_its_calls() -> None:
    told = help_sum(
        STARTED, model_reply(), model_reply(), dropped_draft(calls=2), ASKED, model_reply("helper"), FINISHED
    )

    assert {row["role"]: row["calls"] for row in told.rows} == {"helper": 1, "wasted": 2}
    assert told.all_large_usd == 5.0


@pytest.mark.parametrize(
    ("events", "helped"),
    [
        ((ASKED, model_reply("helper")), 1),
        ((ASKED, FAILED), 0),
        ((ASKED, FAILED, ASKED, model_reply("helper")), 1),
        ((ASKED, model_reply("helper"), ASKED, FAILED), 1),
        ((ASKED, model_reply("helper"), model_reply(), FAILED), 1),
        ((ASKED, STUCK, FAILED), 1),
        ((ASKED, FAILED, model_reply(), dropped_draft()), 0),
        ((FAILED,), 0),
        ((PEER, model_reply("peer"), PEER, model_reply("peer")), 0),
        ((PEER, model_reply("peer"), ASKED, model_reply("helper")), 1),
        ((BOOST, model_reply("boost"), BoostStep(0, "other", speaker="small"), FAILED), 0),
        ((BOOST, BoostStep(0, "other", speaker="small"), BOOST, BoostStep(1, "guidance", speaker="small")), 1),
    ],
)
def test_a_turn_is_helped_where_help_came(events: tuple[Event, ...], helped: int) -> None:
    assert help_sum(STARTED, model_reply(), *events, FINISHED).helped == helped


def test_help_of_clients_that_tell_nothing_of_their_calls_is_counted_at_an_unknown_cost() -> None:
    help_ = HelpAccount()
    for event in (STARTED, ASKED, FINISHED, STARTED, FINISHED):
        help_.apply(event)
    told = help_.total()

    assert told
    assert (told.turns, told.helped, told.cost_usd, told.all_large_usd, told.rows) == (2, 1, None, None, ())


def test_where_nobody_was_asked_and_nobody_could_have_been_nothing_is_told() -> None:
    help_ = HelpAccount()
    for event in (STARTED, model_reply(), FINISHED):
        help_.apply(event)

    assert help_.total() is None


def test_help_that_came_in_one_turn_is_not_that_of_the_next() -> None:
    assert (
        help_sum(STARTED, ASKED, model_reply("helper"), ASKED, FINISHED, STARTED, model_reply(), FINISHED).helped == 1
    )


def test_a_helper_that_was_asked_in_vain_was_asked() -> None:
    vain = (ASKED, FAILED)

    assert help_account(STARTED, *vain, *vain, ASKED, model_reply("helper"), model_reply("helper")).asked["small"] == 3
