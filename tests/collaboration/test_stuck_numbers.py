# ruff: noqa: RUF001
"""Numbers of all locales, and sums that hold or do not: right answers are left alone, wrong ones are seen."""

import pytest

from ai_battle import StuckDetector
from ai_battle.judging.assessment import Assessment

RIGHT = [
    (
        "84 million people live on 357,000 km\u00b2. How many per km\u00b2?",
        "84,000,000 / 357,000 = 235 people per km\u00b2",
    ),
    ("A film made 2.4 billion dollars in 60 days. How much per day?", "2,400,000,000 / 60 = 40,000,000: $40 million."),
    ("Revenue grew from 2.4 to 3.1 million. By how many percent?", "3.1 - 2.4 = 0.7 million\n0.7 / 2.4 = 29.2 %"),
    (
        "A class of 28 has 4 more girls than boys. How many girls?",
        "Without those 4 there are 24, 12 of each. 12 + 4 = 16",
    ),
    ("8 hours less 45 minutes at 18.40 an hour?", "8 h - 0.75 h = 7.25 h\n7.25 * 18.40 = 133.40"),
    ("24 cookies need 2 1/4 cups. How many need 18 cups?", "18 / 2.25 = 8 batches\n8 * 24 = 192 cookies"),
    ("How many 5-minute songs with gaps of 10 s fit on 74 minutes?", "One is 310 s of 4440 s. 4440 / 310 = 14.3: 14."),
    ("What does a 400 W lamp use in 5 hours?", "400 W * 5 h = 2 kWh"),
    ("Three friends share a taxi for 41,70 €. What does each pay?", "41,70 € / 3 = 13,90 €, so each pays 13,90 €."),
    ("Ein Fahrrad kostet 1.249,00 €, der Helm 89,95 €. Was kostet beides?", "1.249,00 € + 89,95 € = 1.338,95 €"),
    (
        "Ein Zaun von 84 m soll 7 gleiche Felder haben. Wie breit ist eins?",
        "84 m : 7 = 12 m. Jedes Feld ist 12 m breit.",
    ),
    ("Trois places coûtent 12,50 € chacune. Combien en tout ?", "3 × 12,50 € = 37,50 €\n\nEn tout : **37,50 €**."),
    ("Un loyer de 1 240 € plus 85 € de charges, combien ?", "1\u202f240 € + 85 € = 1\u202f325 €"),
    ("Ile kosztuje 6 biletów po 1 250,50 zł?", "6 · 1 250,50 zł = 7 503,00 zł"),
    ("Was kosten 4 Skipässe zu CHF 1'120.50?", "4 × CHF 1'120.50 = CHF 4'482.00. Zusammen CHF 4'482.00."),
    ("5 sarees cost ₹1,25,000 in all. What does one cost?", "₹1,25,000 / 5 = ₹25,000"),
    ("٣ كتب بسعر ١٢٫٥٠ للواحد. كم الثمن؟", "٣ × ١٢٫٥٠ = ٣٧٫٥٠"),
    ("४ किताबें ₹१२५ की हैं। कुल कितना?", "४ × १२५ = ५००\n\nकुल ₹५०० होंगे।"),
    ("3人で9,600円の夕食を割り勘にすると一人いくら？", "９，６００円 ÷ ３ = ３，２００円"),
    ("一套房子350万元，首付30%是多少？", "350万元 × 30% = 105万元。首付是105万元。"),
    ("What is 0.35 as a percentage?", "0.35 * 100 = 35, so it is 35 %."),
    ("Split $100 among 7 people.", "100 / 7 ≈ 14.29, about $14.29 each."),
    ("How much is a third of 50?", "50 / 3 = 16.6 (and so on), roughly 17."),
    ("How far is 300 km/h for 1.5 h?", "300 km/h * 1.5 h = 450 km"),
    ("What is the area of a 3.5 m by 4 m rug?", "3.5 m × 4 m = 14 m²"),
    ("How many people is 3 percent of about 8 billion?", "3% of 8 billion ≈ 240 million."),
    ("My son says 8 * 7 = 54. What do I tell him?", "8 * 7 = 54 is wrong; 8 * 7 = 56. Ask him for 8 * 5 first."),
    ("Balance the burning of methane.", "CH4 + 2 O2 = CO2 + 2 H2O"),
    ("Is 2 + 2 = 5?", "No, 2 + 2 = 4."),
    (
        "How long from 9:50 to 11:15?",
        "From 9:50 to 10:00 are 10 minutes, to 11:00 60, to 11:15 another 15: 85 minutes.",
    ),
    ("How much is 2 h 30 min in minutes?", "2 h + 30 min = 150 min"),
    ("Call me a cab, my number is 555-0123 and it's 3/4/2025.", "Gladly! I have 555-0123 for 3/4/2025, is that right?"),
    ("What's new in 3.12.1?", "3.12.1 fixes bugs of 3.12.0; it came out on 12/8/2023."),
    ("What is 17 * 24?", "<think>17 * 24 = 398? No: 17 * 24 = 408.</think>\n408<|im_end|>"),
    ("What is 17 * 24?", "408</s></s></s>"),
    ("Solve 3m + 4 = 10.", "3 m + 4 = 10, so 3 m = 6 and m = 2."),
    ("A triangle with legs 3 and 4: the hypotenuse?", "\\[ \\sqrt{3^2 + 4^2} = 5 \\]\n\n$3^2 + 4^2 = 25$, so it is 5."),
    ("Quanto dá 1.250 mais 350?", "1.250 + 350 = 1.600"),
    ("12 rolls need 500 g of flour. What do 30 rolls need?", "500 g ÷ 12 × 30 = 1,250 g, or 1.25 kg."),
    ("How many litres does a box of 0.8 m, 0.35 m and 0.4 m hold?", "0.8 m * 0.35 m * 0.4 m = 0.112 m³, i.e. 112 l."),
    ("The shop is open 8 h 45 a day. How many hours are six days?", "8.75 × 6 = 52.5 hours."),
    ("A film of 2 h 15 min is shown 4 times. How many minutes?", "135 × 4 = 540 minutes."),
    ("A bus runs from 7:20 to 9:05, twice a day. How many hours?", "That is 1.75 h, and 1.75 × 2 = 3.5 hours."),
    ("Ein Kurs dauert 1 h 30 und findet 12 Mal statt. Wie viele Stunden?", "1,5 · 12 = 18 Stunden."),
    ("A jacket of 80 €, 25 % off, then 10 % off?", "80 € − 25 % = 60 €, and 60 € − 10 % = 54 €."),
    ("Salary 3,200, plus 5% raise, then minus 20% tax?", "3,200 + 5% = 3,360\n3,360 - 20% = 2,688"),
    ("30% and 15% of the voters, how many together?", "30% + 15% = 45%"),
    ("Two tickets at $14.50 and parking for $6?", "2 × $14.50 = $29.00, plus $6 = $35.00."),
    ("Two rents of 640 EUR, how much in all?", "You owe me both rents (2 x 640 EUR = 1280 EUR)."),
]
FALSE_SUMS = [
    ("A $90 coat at 30% off?", "$90 - 30% = $60"),
    ("Two tickets at $14.50 and parking for $6?", "2 × $14.50 = $29.00, plus $6 = $36.00."),
    ("What is 17 * 24?", "17 * 24 = 407"),
    ("And 4211 + 3775?", "4211 + 3775 = 7996."),
    ("999 squared?", "999 * 999 = 998000"),
    ("Fahrrad und Helm?", "1.249,00 € + 89,95 € = 1.348,95 €"),
    ("Wie breit ist ein Feld?", "84 m : 7 = 13 m"),
    ("Combien en tout ?", "1\u202f240 € + 85 € = 1\u202f335 €"),
    ("Ile?", "6 · 1 250,50 zł = 7 530,00 zł"),
    ("Skipässe?", "4 × CHF 1'120.50 = CHF 4'428.00"),
    ("कुल कितना?", "४ × १२५ = ५१०"),
    ("كم؟", "٣ × ١٢٫٥٠ = ٣٨٫٥٠"),
    ("And for 5 sarees?", "₹1,25,000 / 5 = ₹26,000"),
    ("The rug?", "3.5 m × 4 m ≈ 14.5 m²"),
    ("How much?", "**Total:** 3 * **$4.25** = **$12.85**"),
    ("一人いくら？", "9,600円 ÷ 3 = 3,300円"),
    ("Two rents?", "You owe me both rents (2 x 640 EUR = 1380 EUR)."),
    ("Zwei Mieten?", "Offen sind beide Mieten (2 · 640 € = 1.380,00 €), zahlbar bis 15. Mai."),
]  # fmt: skip
OTHER_WRONGS = [
    ("What is 17 * 24?", "The product is 418.", "asked_sum_missed"),
    ("Was ist 17 mal 24?", "Das sind 398.", "asked_sum_missed"),
    ("Combien font 15 % de 80 ?", "Cela fait 14.", "asked_sum_missed"),
    ("17 乘以 24 等于多少？", "等于418。", "asked_sum_missed"),
    ("Compute \\(12 \\times 12\\).", "It is \\boxed{142}.", "asked_sum_missed"),
    ("6 pens at 2.35 each, what in all?", "6 * 2.35 = 14.10\n\nIn all that is 14.30.", "final_off_sums"),
    ("6 Stifte zu 2,35 €, was zusammen?", "6 · 2,35 € = 14,10 €\n\nZusammen sind es 15,10 €.", "final_off_sums"),
    ("A 46 m rope is cut in 8 parts. How long is one?", "48 / 8 = 6, so each is 6 m long.", "number_misread"),
    ("Une corde de 46 m en 8 parts ?", "46 m / 9 ≈ 5,11 m", "number_misread"),
]  # fmt: skip


def assess(response: str, prompt: str) -> Assessment:
    return StuckDetector().assess(response, prompt)


@pytest.mark.parametrize(("prompt", "response"), RIGHT)
def test_a_right_sum_is_left_alone_in_whatever_form_it_comes(prompt: str, response: str) -> None:
    found = assess(response, prompt)
    assert {"wrong_sums", "asked_sum_missed", "final_off_sums", "number_misread"}.isdisjoint(found.signals)
    assert not found.at_once


@pytest.mark.parametrize(("prompt", "response"), FALSE_SUMS)
def test_a_sum_that_is_false_in_every_reading_is_seen(prompt: str, response: str) -> None:
    found = assess(response, prompt)
    assert found.signals["wrong_sums"] == 1
    assert found.stuck


@pytest.mark.parametrize(("prompt", "response", "signal"), OTHER_WRONGS)
def test_a_number_that_nothing_leads_to_is_seen(prompt: str, response: str, signal: str) -> None:
    found = assess(response, prompt)
    assert found.signals[signal] == 1
    assert found.stuck


@pytest.mark.parametrize(
    "nothing", ["</s></s></s>", "<think>\nFirst I look.\n</think>\n", "<pad>" * 30, "Assistant:", "..."]
)
def test_nothing_behind_thinking_and_tokens_is_no_answer(nothing: str) -> None:
    found = assess(nothing, "What is 17 * 24?")
    assert found.at_once
    assert "empty" in found.signals


@pytest.mark.parametrize(
    "framed",
    [
        "{}<|im_end|>", "{}<｜end▁of▁sentence｜>", "<|im_start|>assistant\n{}<|im_end|>\n", "Assistant: {}",
        "{}\n<pad><pad><pad>", "[/INST] {}</s>", "<think>\nHm, 2 + 2 = 5? I don't know.\n</think>\n\n{}",
        "<|channel|>analysis<|message|>I can't do it.<|end|><|start|>assistant<|channel|>final<|message|>{}<|return|>",
        "<start_of_turn>model\n{}<end_of_turn>", "### Response:\n{}",
    ],
)  # fmt: skip
def test_what_a_chat_template_leaves_behind_changes_nothing(framed: str) -> None:
    answer, prompt = "Each pays 13.90 euros.", "Three friends share a taxi for 41.70 euros. What does each pay?"
    assert assess(framed.format(answer), prompt).quality == assess(answer, prompt).quality
