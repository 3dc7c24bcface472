"""Parts of the example one by one: data, batches, choice, tables."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import torch
from lightning import Trainer
from lightning.pytorch.strategies import DDPStrategy
from summarizer.batches import Batches
from summarizer.choice import best_of_n, first, minimum_bayes_risk
from summarizer.data import Docstrings, Files, Hub
from summarizer.data.docstrings import read_package, split_of
from summarizer.data.hub import column
from summarizer.launching import refuse_subprocesses
from summarizer.models import frequent_words
from summarizer.reports import aligned, read_tsv

from bertscore_tm import BERTScore, bert_score
from bertscore_tm.lightning import write_tsv

CANDIDATES = [
    ["a cat sat", "a cat sat down", "it rains"],
    ["open the file", "open the door", "close the door"],
]
TARGETS = [["rain falls"], ["please close the door", "shut it"]]


@pytest.fixture(scope="module")
def words():
    return frequent_words("minilm", 4096)


@pytest.fixture
def scorer() -> BERTScore:
    return BERTScore("minilm", 5, reduction="none")


def test_docstrings_are_divided_by_module_and_come_once(tmp_path: Path) -> None:
    data = Docstrings(None, ["torchmetrics"], str(tmp_path), max_val=50)
    data.prepare_data()
    data.setup("fit")
    train, val = ({row["source"] for row in data.rows[split]} for split in ("train", "val"))
    assert len(train) == len(data.rows["train"]) > 10 * len(val) > 100
    assert not train & val
    assert [row["id"] for row in data.rows["val"]] == list(range(len(val)))
    modules: dict[str, set[str]] = {}
    for module, document, _ in read_package("torchmetrics"):
        modules.setdefault(document, set()).add(split_of(module))
    assert all("val" in modules[document] for document in val)


def test_docstrings_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = Docstrings(None, ["hydra"], str(tmp_path))
    data.prepare_data()
    monkeypatch.setattr("summarizer.data.docstrings.read_package", None)
    data.prepare_data()


def test_an_unknown_package_is_named() -> None:
    with pytest.raises(
        ModuleNotFoundError, match=r"'no_such_package' is not installed.*data\.packages"
    ):
        list(read_package("no_such_package"))


def test_jsonl_takes_one_target_or_several(tmp_path: Path) -> None:
    file = tmp_path / "val.jsonl"
    rows = [{"text": "a", "refs": "x"}, {"text": "b", "refs": ["y", "z"]}]
    file.write_text("\n".join(map(json.dumps, rows)))
    data = Files(None, val=str(file), source="text", target="refs")
    data.setup("validate")
    assert data.rows["val"] == [
        {"id": 0, "source": "a", "targets": ["x"]},
        {"id": 1, "source": "b", "targets": ["y", "z"]},
    ]


@pytest.mark.parametrize(
    "text, error, message",
    [
        ('{"source": "a"}', ValueError, "line 1 has no key 'target'; it has source"),
        ('{"source": "a", "target": "b"}\n{', ValueError, "line 2: got '{', which is no JSON"),
        ("[1]", ValueError, "line 1: got a list; wanted an object"),
        ("", ValueError, "no rows for 'val'"),
    ],
)
def test_jsonl_errors_say_where(
    tmp_path: Path, text: str, error: type[Exception], message: str
) -> None:
    file = tmp_path / "val.jsonl"
    file.write_text(text)
    with pytest.raises(error, match=message):
        Files(None, val=str(file)).setup("validate")


def test_jsonl_files_that_are_missing() -> None:
    with pytest.raises(ValueError, match=r"wanted data\.val=FILE"):
        Files(None).setup("validate")
    with pytest.raises(FileNotFoundError, match=r"nowhere\.jsonl is no file"):
        Files(None, val="nowhere.jsonl").setup("validate")


def test_hub_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    class Table(list):
        def select(self, places: range) -> list:
            return [self[place] for place in places]

    table = Table({"translation": {"de": f"Satz {i}", "en": f"sentence {i}"}} for i in range(5))
    data = Hub(None, "x", "translation.de", "translation.en", {"val": "validation"}, max_val=3)
    monkeypatch.setattr(data, "_data", lambda split: table)
    data.setup("validate")
    assert data.rows["val"][2] == {"id": 2, "source": "Satz 2", "targets": ["sentence 2"]}
    with pytest.raises(
        KeyError, match=r"no column 'translation.fr'; the data set has 'translation'"
    ):
        column(table[0], "translation.fr")


def test_batches_there_and_back(words) -> None:
    batches = Batches(
        words, max_source_tokens=8, max_target_tokens=8, prefix="read: ", adds_start=True
    )
    rows = [
        {
            "id": 4,
            "source": "one two three four five six seven eight",
            "targets": ["a big dog", "the dog"],
        },
        {"id": 7, "source": "one", "targets": ["one"]},
    ]
    batch = batches.collate(rows)
    assert batch["input_ids"].shape == (2, 8)
    assert batches.decode(batch["input_ids"])[1] == "read : one"
    assert (
        batch["labels"][0].tolist() == words("a big dog")["input_ids"][1:]
    )  # the decoder begins with the first by itself
    assert batch["labels"][1, -1] == -100
    assert batch["ids"].tolist() == [4, 7]
    assert batch["targets"] == [["a big dog", "the dog"], ["one"]]


def test_frequent_words_know_all_letters(words) -> None:
    assert len(words) == 4096
    tokens = words("zebra quixotic tensor 42 kwargs")["input_ids"]
    assert words.unk_token_id not in tokens
    assert words.decode(tokens, skip_special_tokens=True) == "zebra quixotic tensor 42 kwargs"


WORDS = "a the dog cat rain file door opens closes falls sits down quietly again".split()


def drawn_groups(seed: int, groups: int = 12, size: int = 4) -> list[list[str]]:
    draw = random.Random(seed)
    return [
        [" ".join(draw.choices(WORDS, k=draw.randint(1, 7))) for _ in range(size)]
        for _ in range(groups)
    ]


@pytest.mark.parametrize("score", ["precision", "recall", "f1"])
def test_minimum_bayes_risk_is_the_highest_mean_score_as_prediction(score: str) -> None:
    groups = [*drawn_groups(1), ["a dog", "a dog", "rain falls again", "the cat"]]
    chosen = minimum_bayes_risk(groups, [], BERTScore("minilm", 5, score=score, reduction="none"))
    reversed_ = []
    for group, text in zip(groups, chosen, strict=True):
        means: dict[int, float] = {}
        turned: dict[int, float] = {}
        for i, candidate in enumerate(group):
            others = group[:i] + group[i + 1 :]
            scores = bert_score([candidate] * len(others), others, "minilm", 5)[score]
            means[i] = float(scores.double().mean())
            scores = bert_score(others, [candidate] * len(others), "minilm", 5)[score]
            turned[i] = float(scores.double().mean())
        assert means[group.index(text)] == pytest.approx(max(means.values()), abs=1e-6)
        reversed_.append(group[max(turned, key=turned.__getitem__)])
    if score != "f1":  # these groups tell the two directions apart
        assert reversed_ != chosen


def test_minimum_bayes_risk_counts_duplicates_as_often_as_they_come(scorer: BERTScore) -> None:
    odd = ["it rains", "a cat sat", "a cat sat down", "the cat sat there"]
    assert minimum_bayes_risk([odd], [], scorer) != ["it rains"]
    assert minimum_bayes_risk([["it rains"] * 4 + odd[1:]], [], scorer) == ["it rains"]
    assert minimum_bayes_risk([["same", "same"]], [], scorer) == ["same"]


@pytest.mark.parametrize("choose", [first, minimum_bayes_risk, best_of_n])
def test_a_group_without_candidates_gives_the_empty_text(choose, scorer: BERTScore) -> None:
    groups = [["alone"], [], ["again"]]
    assert choose(groups, [["x"]] * 3, scorer) == ["alone", "", "again"]
    assert choose([[]], [["x"]], scorer) == [""]
    assert choose([], [], scorer) == []


def test_choosing_needs_one_score_of_one_layer() -> None:
    several = BERTScore("minilm", [1, 2], reduction="none")
    with pytest.raises(ValueError, match=r"layer_1, layer_2; wanted one score of one layer"):
        minimum_bayes_risk([["a", "b"]], [], several)
    with pytest.raises(ValueError, match=r"got no scorer to choose with; wanted a BERTScore"):
        minimum_bayes_risk([["a", "b"]], [], None)


def test_each_candidate_is_encoded_once() -> None:
    scorer = BERTScore("minilm", 4, reduction="none")
    before = scorer.diagnostics()["encoded_tokens"]
    minimum_bayes_risk([["one two", "three four", "five six", "seven eight"]], [[""]], scorer)
    assert (
        scorer.diagnostics()["encoded_tokens"] - before == 4 * 4
    )  # two words and two markers each


def test_best_of_n_and_first(scorer: BERTScore) -> None:
    assert best_of_n(CANDIDATES, TARGETS, scorer) == ["it rains", "close the door"]
    assert first(CANDIDATES, TARGETS, scorer) == ["a cat sat", "open the file"]


def test_one_candidate_is_chosen(scorer: BERTScore) -> None:
    assert minimum_bayes_risk([["alone"], []][:1], [["x"]], scorer) == ["alone"]


@pytest.mark.filterwarnings("ignore")
def test_sweeps_in_subprocesses_are_refused() -> None:
    quiet = {"accelerator": "cpu", "logger": False, "enable_checkpointing": False}
    with pytest.raises(RuntimeError, match=r"(?s)trainer=cpu.*ddp_spawn.*torchrun"):
        refuse_subprocesses(Trainer(devices=2, strategy="ddp", **quiet))
    refuse_subprocesses(Trainer(devices=2, strategy=DDPStrategy(start_method="spawn"), **quiet))
    refuse_subprocesses(Trainer(devices=1, **quiet))


def test_tables(tmp_path: Path) -> None:
    rows = [{"epoch": 0, "f1": "0.25"}, {"epoch": 10, "f1": "0.123456"}]
    write_tsv(tmp_path / "a" / "x.tsv", rows, ["epoch", "f1", "later"])
    assert read_tsv(tmp_path / "a" / "x.tsv")[1] == {
        "epoch": "10",
        "f1": "0.123456",
        "later": "nan",
    }
    assert read_tsv(tmp_path / "none.tsv") == []
    assert aligned(rows) == "epoch      f1\n    0  0.2500\n   10  0.1235"


def test_reduced_word_vectors() -> None:
    from summarizer.models import reduced

    vectors = torch.randn(50, 8, generator=torch.Generator().manual_seed(0))
    assert reduced(vectors, 3).shape == (50, 3)
    assert reduced(vectors, 3).std().item() == pytest.approx(1)
