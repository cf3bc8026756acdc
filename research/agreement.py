"""Measures what agreement between models gains: `python -m research.agreement DIR`.

DIR holds `answers.<dataset>.jsonl.gz` and `gsm8k.mixtral-8x7b.gpt-4-1106.jsonl.gz`. Calibrated figures are of
questions whose labels were not learned from. The detector's weights have seen no answer of the model that they judge.
Plain agreement uses no label at all.
"""

import sys
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from pathlib import Path
from statistics import fmean

from research.answer_tables import KINDS, Table, family, read_table
from research.councils import COUNCIL, Council, calibrated_council, council
from research.peers import Attempt, PeerAnswers, judge_unseen, read_attempts, vote_worth, with_peer, without_peer

SCORES = {
    "differs": PeerAnswers.disagreement,
    "with detector": PeerAnswers.with_detector,
    "calibrated": PeerAnswers.calibrate,
}
THRESHOLDS = (0.7, 0.8, 0.85)
RESERVE = ("Phi-3.5-mini-instruct", "Mistral-Nemo-Instruct-2407", "Yi-1.5-9B-Chat")
LOCAL = (*COUNCIL, *RESERVE, "Meta-Llama-3-8B-Instruct")


def councils(table: Table, reserve: int) -> Iterator[Council]:
    """Yields all councils of three local models of different families, with `reserve` others in reserve."""
    for members in combinations(LOCAL, 3):
        families = {family(each) for each in members}
        others = [each for each in LOCAL if family(each) not in families]
        if len(families) == 3:
            yield from (council(table, members, chosen) for chosen in permutations(others, reserve))


def lines(folder: Path) -> Iterator[str]:
    for dataset in (each for each in KINDS if (folder / f"answers.{each}.jsonl.gz").is_file()):
        found = vote_worth(read_table(folder, dataset))
        yield (
            f"{dataset:10} agrees with right answers {found.if_right:.3f}, with wrong ones {found.if_wrong:.3f}; "
            f"odds times {found.odds[0]:.2f} if it agrees, {found.odds[1]:.2f} if it differs"
        )
    table = read_table(folder, "gsm8k")
    yield from _of_peers(judge_unseen(read_attempts(folder), folder), table)
    yield from _of_councils(table)


def _of_peers(attempts: Sequence[Attempt], table: Table) -> Iterator[str]:
    for peer in LOCAL:
        both = PeerAnswers.of(attempts, table, peer)
        for name, score in SCORES.items():
            found = score(both)
            measures = f"AUROC {found.auroc:.3f} APGR {found.apgr:.3f} CPT80 {found.cpt80:.3f}"
            yield f"{peer:28} {name:13} {measures}"
        for threshold in THRESHOLDS:
            yield f"{peer:28} asked where its vote matters, threshold {threshold}: {with_peer(both, threshold)}"
    for threshold in THRESHOLDS:
        yield f"no peer, threshold {threshold}: {without_peer(both, threshold)}"


def _of_councils(table: Table) -> Iterator[str]:
    for count in range(len(RESERVE) + 1):
        yield f"council, {count} in reserve: {council(table, COUNCIL, RESERVE[:count])}"
        yield f"  the same, calibrated: {calibrated_council(table, COUNCIL, RESERVE[:count])}"
    for count in range(3):
        every = list(councils(table, count))
        recovered, calls = fmean(each.mean for each in every), fmean(each.large_calls for each in every)
        yield f"all {len(every)} councils, {count} in reserve: {recovered:.3f}, large calls {calls:.3f}"


def main(arguments: Sequence[str]) -> None:
    for line in lines(Path(arguments[0] if arguments else ".")):
        print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
