"""Pure signals of texts."""

import pytest

from ai_battle.signals.consensus import agrees, decisions, parts
from ai_battle.signals.languages import content_stems, novelty, sentences, words


def test_words_are_lower_cased_and_scripts_without_spaces_come_in_pairs() -> None:
    assert list(words("Don't panic: 3.5 Äpfel")) == ["don't", "panic", "3.5", "äpfel"]
    assert list(words("光速是常")) == ["光速", "速是", "是常"]


def test_content_is_what_is_left_without_fillers_and_inflection() -> None:
    assert content_stems("Thank you, the batteries are great!") == {"batter"}
    assert content_stems("A battery is a battery.") == {"batter"}


def test_sentences_end_at_full_stops_and_lines() -> None:
    assert sentences("One. Two!\n- three\n\n**Four?** 3.5 is no end") == [
        "One.",
        "Two!",
        "three",
        "Four?",
        "3.5 is no end",
    ]


def test_novelty_is_the_share_of_new_content() -> None:
    assert novelty("Copper conducts heat.", []) == pytest.approx(3 / 5)
    assert novelty("Copper conducts heat.", ["Heat is conducted by copper."]) == 0
    assert novelty("Thank you so much!", []) == 0
    assert novelty("Silver conducts heat better than copper ever could in practice.", ["Copper conducts heat."]) > 0.2


@pytest.mark.parametrize(
    "text",
    [
        "Agreed.",
        "I fully agree with the plan.",
        "Deal! See you at ten.",
        "OK, let's go with B.",
        "That's settled, right?",
        "I\u2019m convinced now.",
        "No objections from my side.",
        "Einverstanden, so machen wir es.",
        "Va bene, d'accordo.",
        "Bom, concordo plenamente.",
        "Ik ben het ermee eens.",
        "Zgoda, robimy tak.",
        "Tamam, anla\u015ft\u0131k.",
        "\u0414\u043e\u0433\u043e\u0432\u043e\u0440\u0438\u043b\u0438\u0441\u044c.",
        "\u6211\u540c\u610f\u3002",
        "\u8cdb\u6210\u3067\u3059\u3002",
        "\u0627\u062a\u0641\u0642\u0646\u0627.",
        "\u092e\u0948\u0902 \u0938\u0939\u092e\u0924 \u0939\u0942\u0901\u0964",
        "We\u2019ve reached a consensus.",
    ],
)
def test_a_yes_without_reserve_agrees(text: str) -> None:
    assert agrees(text)


@pytest.mark.parametrize(
    "text",
    [
        "I agree, but the cost worries me.",
        "I don't agree.",
        "I would agree if you paid.",
        "I'm not convinced yet.",
        "Agreed. However, who pays?",
        "I agree. What about the buses?",
        "We never agreed on that.",
        "Copper is cheaper than silver.",
        "Ich bin nicht einverstanden.",
        "Je ne suis pas d'accord.",
        "No estoy de acuerdo.",
        "Non siamo ancora d'accordo.",
        "Ik ben het er niet mee eens.",
        "Nie zgadzam si\u0119 na to.",
        "Zgoda, ale cena jest za wysoka.",
        "Anla\u015ft\u0131k, ancak fiyat y\u00fcksek.",
        "\u041c\u044b \u043f\u043e\u043a\u0430 \u043d\u0435 \u0441\u043e\u0433\u043b\u0430\u0441\u043d\u044b.",
        "\u6211\u4e0d\u540c\u610f\u3002",
        "\u6211\u540c\u610f\u4ef7\u683c\uff0c\u4f46\u662f\u65e5\u671f\u4e0d\u884c\u3002",
        "\u8cdb\u6210\u3057\u307e\u3059\u304c\u3001\u9ad8\u3044\u3067\u3059\u3002",
        "\u0623\u0648\u0627\u0641\u0642\u060c \u0644\u0643\u0646 \u0627\u0644\u0633\u0639\u0631 \u0639\u0627\u0644.",
        "\u092e\u0948\u0902 \u0938\u0939\u092e\u0924 \u0928\u0939\u0940\u0902 \u0939\u0942\u0901\u0964",
        "",
    ],
)
def test_a_yes_with_a_reserve_or_a_question_does_not(text: str) -> None:
    assert not agrees(text)


@pytest.mark.parametrize("text", ["Thank you, goodbye!", "You're welcome! Have a great day!", "Merci, au revoir."])
def test_saying_goodbye_is_recognised(text: str) -> None:
    assert parts(text)


@pytest.mark.parametrize(
    "text",
    [
        "Thanks. Line 30 still uses a mutable default argument.",
        "Thank you! Why is that?",
        "The tide turns twice a day.",
        "",
    ],
)
def test_thanks_before_something_new_are_no_goodbye(text: str) -> None:
    assert not parts(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Fine. DECISION: use Postgres. Next topic.", ["DECISION: use Postgres."]),
        ("**Decision:**\nuse Postgres\nand so on", ["Decision: use Postgres"]),
        ("After a while we\u2019ve decided to wait. Then lunch.", ["After a while we\u2019ve decided to wait."]),
        ("- We agreed: 10 euro", ["We agreed: 10 euro"]),
        ("Indecision: a poem. We discussed the decision process.", []),
        ("Wir haben beschlossen, zu warten.", ["Wir haben beschlossen, zu warten."]),
        ("BESCHLUSS: Das Fest ist am 14. Juni.", ["BESCHLUSS: Das Fest ist am 14. Juni."]),
        ("Gut. Wir haben beschlossen, ca. 20 € zu zahlen. Danach!", ["Wir haben beschlossen, ca. 20 € zu zahlen."]),
        (
            "DECISION: Prof. Ito speaks at 5 p.m. in Hall B. Who else?",
            ["DECISION: Prof. Ito speaks at 5 p.m. in Hall B. Who else?"],
        ),
        ("We agreed on approx. 400 euro. Further points?", ["We agreed on approx. 400 euro."]),
        ("Decision:", []),
        ("好的。决定:活动在六月十四日。然后买饮料。", ["决定:活动在六月十四日。"]),
        ("お祭りは六月十四日に決めました。飲み物は。", ["お祭りは六月十四日に決めました。"]),
        (
            "Decisão: a festa é no dia 14. Nous avons décidé de louer.",
            ["Decisão: a festa é no dia 14. Nous avons décidé de louer."],
        ),
    ],
)
def test_marked_decisions_are_found_as_whole_sentences(text: str, found: list[str]) -> None:
    assert decisions([text]) == found


def test_a_decision_that_is_repeated_is_found_once() -> None:
    assert decisions(["DECISION: go.", "As said.\nDECISION: go."]) == ["DECISION: go."]
