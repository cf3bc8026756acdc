"""What pairs have shown is kept by several processes at once, and a file that can't hold it is told plainly."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ai_battle.core.errors import StoreError
from ai_battle.evidence.store import NAME, EvidenceStore
from tests.redis import redis_server

PAIR = "ollama/phi4 + openai/gpt-4o"


@pytest.fixture(params=["file", "redis"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path | str]:
    if request.param == "file":
        yield tmp_path
        return
    with redis_server(tmp_path) as server:
        yield server.url


@pytest.fixture
def store(place: Path | str) -> Iterator[EvidenceStore]:
    store = EvidenceStore(place)
    yield store
    store.close()


def keys(store: EvidenceStore, collection: str = "verdicts", pair: str = PAIR) -> list[str]:
    return [record.key for record in store.records(collection, pair)]


def test_records_come_back_in_order_by_collection_and_pair(store: EvidenceStore) -> None:
    for key in ("one", "two"):
        assert store.add("verdicts", PAIR, key, {"loss": 0.5})
    store.add("verdicts", "another + pair", "three", {})
    store.add("lessons", PAIR, "four", {})

    assert keys(store) == ["one", "two"]
    assert store.records("verdicts", PAIR)[0].document == {"loss": 0.5}
    assert list(store.pairs("verdicts")) == ["another + pair", PAIR]


def test_a_record_that_is_there_stays_as_it_is(store: EvidenceStore) -> None:
    assert store.add("verdicts", PAIR, "one", {"loss": 0})
    assert not store.add("verdicts", PAIR, "one", {"loss": 1})
    assert store.get("verdicts", PAIR, "one") == {"loss": 0}
    assert store.get("verdicts", PAIR, "two") is None


def test_the_best_match_is_found_first_and_what_is_removed_not_at_all(store: EvidenceStore) -> None:
    texts = {"boat": "How fast is a sailing boat?", "fish": 'A "fish" in a boat is no sailing fish', "tax": "Due when?"}
    for key, text in texts.items():
        store.add("lessons", PAIR, key, {}, text)
    store.add("lessons", "another + pair", "theirs", {}, "fish")

    assert [found.key for found in store.search("lessons", PAIR, ["fish", "boat"], 5)] == ["fish", "boat"]
    assert [found.key for found in store.search("lessons", PAIR, ['f"sh', "OR"], 5)] == []
    assert store.remove("lessons", PAIR, ["fish", "none"]) == 1
    assert [found.key for found in store.search("lessons", PAIR, ["fish", "boat"], 5)] == ["boat"]
    assert list(store.search("lessons", PAIR, [], 5)) == []


def test_a_document_is_changed_by_one_process_at_a_time(place: Path | str, store: EvidenceStore) -> None:
    count = (
        "import sys; from pathlib import Path; from ai_battle.evidence.store import EvidenceStore\n"
        "store = EvidenceStore(sys.argv[1] if ':' in sys.argv[1] else Path(sys.argv[1]))\n"
        "for _ in range(50):\n"
        "    store.change('watch', 'p', 'state', lambda found: {'seen': (found or {'seen': 0})['seen'] + 1})\n"
    )
    command = [sys.executable, "-c", count, str(place)]
    for process in [subprocess.Popen(command) for _ in range(2)]:
        assert process.wait(timeout=60) == 0
    assert store.get("watch", "p", "state") == {"seen": 100}


def test_a_change_that_fails_changes_nothing(store: EvidenceStore) -> None:
    def fail(document: Any) -> Any:
        raise KeyError("cost")

    store.add("watch", PAIR, "state", {"seen": 1})
    with pytest.raises(KeyError):
        store.change("watch", PAIR, "state", fail)
    assert store.get("watch", PAIR, "state") == {"seen": 1}
    assert store.add("watch", PAIR, "other", {})


def test_texts_of_any_kind_are_kept(store: EvidenceStore) -> None:
    odd = "half \ud83d a sign\0 and 'more' \u20ac"
    store.add("lessons", PAIR, "odd", {"said": odd}, odd)
    assert store.get("lessons", PAIR, "odd") == {"said": odd}


def test_a_full_store_says_so_and_keeps_what_it_has(tmp_path: Path) -> None:
    store = EvidenceStore(tmp_path, most_bytes=200_000)
    store.add("verdicts", PAIR, "small", {})
    with pytest.raises(StoreError, match=rf"{NAME} can't be used: database or disk is full. Make room"):
        store.add("verdicts", PAIR, "large", {"text": "x" * 1_000_000})
    assert keys(store) == ["small"]
    store.close()


def test_a_store_of_another_version_is_named_and_left_alone(tmp_path: Path) -> None:
    EvidenceStore(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / NAME)) as connection:
        connection.execute("PRAGMA user_version = 7")
    with pytest.raises(
        StoreError, match=rf"{tmp_path / NAME} was made by another version .*format 7.*move the file away"
    ):
        EvidenceStore(tmp_path)


def test_a_file_that_is_no_store_is_named(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("This is a letter to my aunt, and no database." * 100)
    with pytest.raises(StoreError, match=rf"{tmp_path / NAME} can't be used: file is not a database. .*move it away"):
        EvidenceStore(tmp_path)


def test_a_folder_that_can_not_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"evidence.sqlite can't be opened: .*; set XDG_STATE_HOME"):
        EvidenceStore(tmp_path / "file")


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    with closing(EvidenceStore(tmp_path)) as store:
        store.add("verdicts", PAIR, "one", {})
        assert {oct(file.stat().st_mode & 0o777) for file in tmp_path.iterdir()} == {"0o600"}
