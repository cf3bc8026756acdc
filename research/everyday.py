"""Draws right answers to everyday questions, which no learned judgement may count against an answer.

Recorded answers come from benchmarks, without prices, bare answers or other languages. Without everyday answers the
weights would take the style of benchmark answers for a sign that they are right.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

DRAWS = 3
CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Locale:
    """A language's format of numbers and money, and its questions and answers about three kinds of sums."""

    group: str
    decimal: str
    money: str
    total: tuple[str, str]
    split: tuple[str, str]
    share: tuple[str, str]
    result: str

    def number(self, value: Decimal) -> str:
        whole, _, decimals = f"{value:,}".partition(".")
        return whole.replace(",", self.group) + (self.decimal + decimals if decimals else "")

    def price(self, value: Decimal) -> str:
        return self.money.format(self.number(value))


LOCALES = (
    Locale(",", ".", "${}", ("What do {n} lamps at {a} each cost?", "They cost {c}."),
           ("{n} of us share a bill of {a}. How much is it for each?", "It is {c} for each."),
           ("How much is {n}% of {b}?", "That is {c}."), "The answer is {}."),
    Locale(",", ".", "\u00a3{}", ("I buy {n} pens for {a} each. How much do I pay?", "You pay {c} in total."),
           ("Split {a} between {n} people, please. How much is one part?", "One part is {c}."),
           ("What is {n} percent of {b}?", "{c}"), "So the result is {}."),
    Locale(".", ",", "{} \u20ac", ("Was kosten {n} Lampen zu je {a}?", "Sie kosten {c}."),
           ("Wir teilen {a} durch {n} Leute. Wie viel ist das?", "Das sind {c}."),
           ("Wie viel sind {n} % von {b}?", "Das sind {c}."), "Die Antwort lautet {}."),
    Locale("\u202f", ",", "{} \u20ac", ("Combien coûtent {n} lampes à {a} ?", "Elles coûtent {c}."),
           ("On partage {a} entre {n} amis. Combien par personne ?", "Cela fait {c}."),
           ("Combien font {n} % de {b} ?", "Cela fait {c}."), "La réponse est {}."),
    Locale(".", ",", "{} \u20ac", ("¿Cuánto cuestan {n} lámparas a {a}?", "Cuestan {c}."),
           ("Repartimos {a} entre {n}. ¿Cuánto toca a cada uno?", "Tocan {c}."),
           ("¿Cuánto es el {n} % de {b}?", "Es {c}."), "La respuesta es {}."),
    Locale(".", ",", "R$ {}", ("Quanto custam {n} canecas a {a} cada?", "Custam {c}."),
           ("Dividimos {a} por {n} pessoas. Quanto fica?", "Fica {c}."),
           ("Quanto é {n}% de {b}?", "É {c}."), "A resposta é {}."),
    Locale("\u00a0", ",", "{} zł", ("Ile kosztuje {n} lamp po {a}?", "Kosztują {c}."),
           ("Dzielimy {a} na {n} osób. Ile wypada?", "Wypada {c}."),
           ("Ile to jest {n}% z {b}?", "To jest {c}."), "Odpowiedź: {}."),
    Locale("'", ".", "CHF {}", ("Was kosten {n} Tassen zu {a}?", "Zusammen {c}."),
           ("{n} Personen teilen {a}. Wie viel zahlt jede?", "Jede zahlt {c}."),
           ("Wie viel ist {n} % von {b}?", "{c}."), "Also {}."),
    Locale(",", ".", "{}元",
           ("{n}盏灯每盏{a}\uff0c一共多少钱\uff1f", "一共{c}。"),
           ("{n}个人分{a}\uff0c每人多少\uff1f", "每人{c}。"),
           ("{b}的{n}%是多少\uff1f", "是{c}。"), "答案是{}。"),
    Locale(",", ".", "\u20b9{}", ("{n} कप {a} के हैं। कुल कितना?", "कुल {c}।"),
           ("{n} लोग {a} बाँटते हैं। हर एक को कितना?", "हर एक को {c}।"),
           ("{b} का {n}% कितना है?", "{c}।"), "उत्तर: {}"),
)  # fmt: skip
STYLES = (
    "{bare}", "{price}", "{said}", "**{said}**", "{sum} = {price}", "{sum} = {price}\n\n{said}",
    "1. {sum} = {price}\n\n{said}", "- **{price}** ({sum})", "\\[ {sum} = {price} \\]\n\n{told}", "{told}",
    "{sum} = {price}\n\n**{said}**", "\\boxed{{{bare}}}", "{sum} = {price}\n#### {bare}", "{said} \U0001f642",
)  # fmt: skip
CHOICES = (
    ("Which of these is a metal?", ("oxygen", "copper", "sulfur", "neon"), 1),
    ("Which month has 28 or 29 days?", ("February", "March", "May", "July"), 0),
    ("Welches Tier kann fliegen?", ("Hund", "Pferd", "Amsel", "Lachs"), 2),
    ("What is 8 + 5?", ("11", "12", "14", "13"), 3),
    ("¿Qué ciudad está en Italia?", ("Lyon", "Turin", "Basel", "Porto"), 1),
)
PICKS = (
    "{letter}", "({letter})", "{letter}.", "{letter}) {text}", "The answer is {letter}.", "**{letter}. {text}**",
    "{text}", "It is {text}, so the answer is ({letter}).", "Answer: {letter}", "\\boxed{{{letter}}}",
    "Of the four only {text} fits what is asked for. The answer is ({letter}).",
)  # fmt: skip


def everyday_answers() -> Iterator[tuple[str, str]]:
    """Yields prompts with right answers, which are the same each time."""
    dice = random.Random(7)  # noqa: S311
    for locale in LOCALES:
        for style in STYLES * DRAWS:
            yield _total(locale, style, dice)
            yield _split(locale, style, dice)
            yield _share(locale, style, dice)
    for question, options, right in CHOICES:
        prompt = "\n".join((question, *(f"({chr(65 + n)}) {text}" for n, text in enumerate(options))))
        yield from ((prompt, style.format(letter=chr(65 + right), text=options[right])) for style in PICKS)


def _total(locale: Locale, style: str, dice: random.Random) -> tuple[str, str]:
    n, a = dice.randint(3, 29), _price(dice)
    return _row(locale, style, locale.total, f"{n} * {locale.price(a)}", n, a, n * a)


def _split(locale: Locale, style: str, dice: random.Random) -> tuple[str, str]:
    n, c = dice.randint(3, 12), _price(dice)
    return _row(locale, style, locale.split, f"{locale.price(n * c)} / {n}", n, n * c, c)


def _share(locale: Locale, style: str, dice: random.Random) -> tuple[str, str]:
    n, b = dice.randint(3, 80), Decimal(dice.randint(21, 4_000))
    share = locale.number(Decimal(n) / 100)
    c = (b * n / 100).quantize(CENT, ROUND_HALF_UP).normalize()
    c = c.quantize(Decimal(1)) if c == c.to_integral() else c
    prompt, answer = locale.share
    shown = locale.number(c)
    said = answer.format(c=shown)
    written = style.format(
        bare=shown, price=shown, said=said, sum=f"{locale.number(b)} * {share}", told=locale.result.format(shown)
    )
    return prompt.format(n=n, b=locale.number(b)), written


def _row(
    locale: Locale, style: str, words: tuple[str, str], calculation: str, n: int, a: Decimal, c: Decimal
) -> tuple[str, str]:
    price = locale.price(c)
    written = style.format(
        bare=locale.number(c),
        price=price,
        said=words[1].format(c=price),
        sum=calculation,
        told=locale.result.format(price),
    )
    return words[0].format(n=n, a=locale.price(a)), written


def _price(dice: random.Random) -> Decimal:
    return Decimal(dice.randint(105, dice.choice((5_000, 400_000)))) / 100
