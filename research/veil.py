"""Measures what a veil finds, restores and costs: `python -m research.veil DIR` writes research/figures/veil.md.

Secrets of seven kinds are planted in conversations of three turns, in known, set-aside and later forms. A client in
place of the cloud keeps what it reads, and repeats it in a stream of single characters.
"""

import asyncio
import gzip
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ai_battle.core.client import ModelClient
from ai_battle.core.events import Emit, EventLog, TextDelta, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse
from ai_battle.core.messages import Message, assistant, user
from ai_battle.providers._private import VeilRules
from ai_battle.providers._veil import Veil, VeiledClient

PAGE = Path(__file__).parent / "figures" / "veil.md"
INTRODUCTION = """# What the veil hides, and what it costs

The veil replaces personal data and secrets by placeholders before a request leaves for a model elsewhere, and restores
them in its answer. This page answers which secrets are sent all the same, whether answers are restored whole, what is
hidden needlessly, and what the veil costs.

`python -m research.veil DIR`, run from the checkout with a folder of recorded answers, measures again and writes this
page.

The rules were made with the *known* forms. The forms *set aside* were written after the first rules, and the *later*
ones before the rules of today; the first rules let 36 and 150 of them through. All are by the same author.
"""
CONVERSATIONS, TURNS, SECRETS = 150, 3, 500
"""The conversations and secrets of each set of forms, and the turns of each conversation."""
NAMES = ("Anna Schmidt", "Li Wei", "José Álvarez", "Mary O'Neill", "Jean-Luc Moreau")
STREETS = ("Linden", "Garten", "Schiller", "Berg")
Form = Callable[[random.Random], str]


def _digits(chance: random.Random, count: int) -> str:
    return "".join(chance.choices("123456789", k=count))


def _word(chance: random.Random, count: int = 8) -> str:
    return "".join(chance.choices("abcdefghkmnpqrstuvwxyz", k=count))


def _iban(chance: random.Random) -> str:
    account = "37040044" + _digits(chance, 10)
    return f"DE{98 - int(account + '131400') % 97:02}{account}"


def _card(chance: random.Random) -> str:
    body = "4" + _digits(chance, 14)
    doubled = sum(sum(divmod(int(each) * (2 - place % 2), 10)) for place, each in enumerate(body))
    return body + str(-doubled % 10)


def _amex(chance: random.Random) -> str:
    """Returns fifteen digits, in groups of four, six and five."""
    body = "37" + _digits(chance, 12)
    doubled = sum(sum(divmod(int(each) * (1 + place % 2), 10)) for place, each in enumerate(body))
    number = body + str(-doubled % 10)
    return f"{number[:4]} {number[4:10]} {number[10:]}"


def _in_groups(text: str, sign: str) -> str:
    return sign.join(text[at : at + 4] for at in range(0, len(text), 4))


KNOWN: Mapping[str, tuple[Form, ...]] = {
    "e-mail": (
        lambda c: f"{_word(c)}.{_word(c)}@{_word(c)}.org",
        lambda c: f"{_word(c)} (at) {_word(c)}.com",
        lambda c: f"mailto:{_word(c)}%40{_word(c)}.de",
    ),
    "phone": (
        lambda c: f"+49 170 {_digits(c, 7)}",
        lambda c: f"0{_digits(c, 3)}/{_digits(c, 6)}",
        lambda c: f"({_digits(c, 3)}) {_digits(c, 3)}-{_digits(c, 4)}",
    ),
    "IBAN": (_iban, lambda c: _in_groups(_iban(c), " ")),
    "card": (_card, lambda c: _in_groups(_card(c), " ")),
    "key": (lambda c: f"sk-proj-{_word(c, 24)}", lambda c: f"ghp_{_word(c, 36)}"),
    "address": (lambda c: f"{c.choice(STREETS)}straße {_digits(c, 2)}", lambda c: f"{_digits(c, 3)} Oak Tree Road"),
    "name": (lambda c: c.choice(NAMES), lambda c: f"Dr. {_word(c).capitalize()}"),
}
UNSEEN_FORMS: Mapping[str, tuple[Form, ...]] = {
    "e-mail": (
        lambda c: f"{_word(c)}+{_word(c, 3)}@mail.{_word(c)}.co.uk",
        lambda c: f"{_word(c)} [at] {_word(c)} [dot] net",
        lambda c: f"<{_word(c).upper()}@{_word(c).upper()}.COM>",
    ),
    "phone": (
        lambda c: f"0044-20-{_digits(c, 4)}-{_digits(c, 4)}",
        lambda c: f"+1.{_digits(c, 3)}.{_digits(c, 3)}.{_digits(c, 4)}",
        lambda c: f"+33 (0)6 {_digits(c, 2)} {_digits(c, 2)} {_digits(c, 2)} {_digits(c, 2)}",
    ),
    "IBAN": (lambda c: _iban(c).lower(), lambda c: _in_groups(_iban(c), "-")),
    "card": (lambda c: _in_groups(_card(c), "-"), lambda c: _in_groups(_card(c), ".")),
    "key": (lambda c: f"xoxb-{_digits(c, 11)}-{_word(c, 20)}", lambda c: f"password: {_word(c)}{_digits(c, 3)}"),
    "address": (lambda c: f"Am Alten Markt {_digits(c, 2)}", lambda c: f"{_digits(c, 4)} Sunset Blvd"),
    "name": (lambda c: c.choice(NAMES).upper(), lambda c: f"Frau {_word(c).capitalize()}"),
}
LATER: Mapping[str, tuple[Form, ...]] = {
    "e-mail": (
        lambda c: f'"{_word(c).capitalize()} K." <{_word(c)}_{_word(c)}@{_word(c)}.museum>',
        lambda c: f"{_word(c)}@{_word(c)}.example.travel",
        lambda c: f"{_word(c)}(at){_word(c)}(dot)org",
    ),
    "phone": (
        lambda c: f"Tél. 01 {_digits(c, 2)} {_digits(c, 2)} {_digits(c, 2)} {_digits(c, 2)}",
        lambda c: f"1-{_digits(c, 3)}-{_digits(c, 3)}-{_digits(c, 4)}",
        lambda c: f"+91 {_digits(c, 5)} {_digits(c, 5)}",
        lambda c: f"06-{_digits(c, 8)}",
    ),
    "IBAN": (lambda c: _in_groups(_iban(c), "\u00a0"), lambda c: f"IBAN:{_iban(c)}"),
    "card": (_amex, lambda c: _in_groups(_card(c), "\u00a0")),
    "key": (
        lambda c: f"postgres://app:{_word(c, 12)}@db.local/main", lambda c: f'"client_secret": "{_word(c, 20)}"',
        lambda c: f"AIza{_word(c, 35)}", lambda c: f"Authorization: Basic {_word(c, 24)}",
    ),
    "address": (
        lambda c: f"{_digits(c, 1)} rue de la République", lambda c: f"Calle de Alcalá {_digits(c, 2)}",
        lambda c: f"Via Garibaldi {_digits(c, 2)}", lambda c: f"Keizersgracht {_digits(c, 3)}",
        lambda c: f"ul. Marszałkowska {_digits(c, 2)}", lambda c: f"Storgatan {_digits(c, 1)}",
        lambda c: f"An der Alster {_digits(c, 1)}", lambda c: f"{_digits(c, 3)}B Baker Street",
        lambda c: f"Rua Augusta, {_digits(c, 3)}", lambda c: f"Unter den Linden {_digits(c, 2)}",
        lambda c: f"Flat 3, {_digits(c, 2)} Elm Grove", lambda c: f"P.O. Box {_digits(c, 4)}",
        lambda c: f"Nørregade {_digits(c, 2)}", lambda c: f"Mannerheimintie {_digits(c, 2)}",
        lambda c: f"Schillerplatz {_digits(c, 1)}, {_digits(c, 5)} Neustadt",
    ),
    "name": (
        lambda c: f"Mme {_word(c).capitalize()}", lambda c: "Schmidt, Anna",
        lambda c: f"Señora {_word(c).capitalize()}",
    ),
}  # fmt: skip
FRAMES = (
    "Please note {} for the file.", "It was {}, I believe.", "Contact: {}\nThanks!", "We have ({}) on record.",
    "Use {}, then report.", "| customer | {} |",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """The fate of a planted secret: sent to the model or not, and restored whole in the answer or not."""

    kind: str
    was_sent: bool
    is_whole: bool


class Cloud(ModelClient):
    """Keeps what it reads, and repeats at most the last `most` characters of the last message, one by one."""

    def __init__(self, most: int = 100_000) -> None:
        self.read: list[str] = []
        self._most = most

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        self.read += [request.system, *(message.text for message in request.messages)]
        last = request.messages[-1].text[-self._most :]
        for each in last:
            await emit(TextDelta(each))
        return ModelResponse(assistant(last))


def _secret(chance: random.Random, number: int, forms: Mapping[str, tuple[Form, ...]]) -> tuple[str, str]:
    kind = list(forms)[number % len(forms)]
    return kind, forms[kind][number // len(forms) % len(forms[kind])](chance)


def _core(secret: str) -> str:
    """Returns the secret of a planted text, without the words that lead to it."""
    return (
        secret.removeprefix("mailto:").removeprefix("password: ").removeprefix("Dr. ").removeprefix("Frau ").strip("<>")
    )


async def run_conversations(forms: Mapping[str, tuple[Form, ...]], seed: int) -> list[Row]:
    """Runs conversations with secrets in these forms."""
    chance, rows = random.Random(seed), []  # noqa: S311 - a simulation
    secrets = [_secret(chance, number, forms) for number in range(SECRETS)]
    for number in range(CONVERSATIONS):
        cloud = Cloud()
        client = VeiledClient(cloud, "cloud/model", VeilRules(NAMES))
        messages: list[Message] = []
        planted: list[tuple[str, str, bool]] = []
        for turn in range(number * TURNS, number * TURNS + TURNS):
            new = secrets[turn :: CONVERSATIONS * TURNS]
            text = " ".join(chance.choice(FRAMES).format(secret) for _, secret in new)
            messages.append(user(text))
            answer = await client.complete(ModelRequest(tuple(messages)), log := EventLog())
            messages.append(answer.message)
            planted += ((*each, answer.text == text == log.text) for each in new)
        sent = "\n".join(cloud.read)
        rows += [Row(kind, _core(secret) in sent, is_whole) for kind, secret, is_whole in planted]
    return rows


async def cost(pages: str, size: int = 10_000) -> float:
    """Returns the milliseconds that a veil adds to a turn with `size` new characters and 500 pieces of answer."""
    bare, seconds, turns = Cloud(500), [], len(pages) // size
    client = VeiledClient(bare, "cloud/model", VeilRules(NAMES))
    for turn in range(turns):
        text = pages[turn * size :][:size]
        for each in (client, bare):
            begun = time.process_time()
            await each.complete(ModelRequest((user(text),)))
            seconds.append(time.process_time() - begun)
    return 1_000 * (sorted(seconds[::2])[turns // 2] - sorted(seconds[1::2])[turns // 2])


def our_pages() -> Iterator[str]:
    yield from (page.read_text(encoding="utf-8") for page in sorted(Path(__file__).parents[1].glob("docs/**/*.md")))


def ordinary_texts(folder: Path) -> Iterator[str]:
    """Yields our documents, and up to 250 questions and answers of each recorded file in `folder`."""
    yield from our_pages()
    for file in sorted(folder.glob("**/*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as rows:
            for row in islice(rows, 250):
                yield from (each for each in json.loads(row).values() if isinstance(each, str) and len(each) > 40)


def hidden_needlessly(texts: Iterable[str]) -> str:
    """Returns a sentence about what the veil hides in texts without secrets."""
    veil, characters, kinds = Veil(VeilRules()), 0, Counter[str]()
    for text in texts:
        sent: dict[str, str] = {}
        veil.cover(text, sent)
        characters += len(text)
        kinds.update(placeholder.rpartition("_")[0] for placeholder in sent)
    hidden = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
    return f"In {characters / 1e6:.1f} million characters of ordinary texts the veil hid {hidden}."


def lines(folder: Path) -> Iterator[str]:
    yield INTRODUCTION
    yield "| Forms | Kind | Planted | Sent to the model | Answers restored whole |\n|---|---|--:|--:|--:|"
    for name, forms, seed in (("known", KNOWN, 1), ("set aside", UNSEEN_FORMS, 2), ("later", LATER, 3)):
        rows = asyncio.run(run_conversations(forms, seed))
        for kind in (*forms, "all"):
            of_kind = [row for row in rows if kind in (row.kind, "all")]
            sent, whole = sum(row.was_sent for row in of_kind), sum(row.is_whole for row in of_kind)
            yield f"| {name} | {kind} | {len(of_kind)} | {sent} | {whole} |"
    yield f"\n## What it hides needlessly, and what it costs\n\n{hidden_needlessly(ordinary_texts(folder))}"
    added = asyncio.run(cost("".join(our_pages())))
    yield f"\nThe veil adds {added:.2f} ms (median) to a turn with 10 kB of our documents as new text."


if __name__ == "__main__":
    text = "\n".join(lines(Path(sys.argv[1] if len(sys.argv) > 1 else "."))) + "\n"
    PAGE.write_text(text, encoding="utf-8")
    print(text)
