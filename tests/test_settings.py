"""One list of settings: whoever names settings says the same, and each is checked alike."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import pickle
import re
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import torch
import yaml

from bertscore_tm import BERTScore, BERTScoreError, IdfTable, Settings, Weighting, bert_score
from bertscore_tm.baseline import Baseline
from bertscore_tm.checks import spelled, spelled_as_flags, spelled_open
from bertscore_tm.cli import _parser
from bertscore_tm.flags import settings_of
from bertscore_tm.pipeline import Pipeline
from bertscore_tm.references import RULES
from bertscore_tm.rows import read_rows
from bertscore_tm.settings import ABOUT, DEFAULTS, Options
from bertscore_tm.settings import Settings as Listed
from bertscore_tm.syncing import alone, epoch_frequencies
from bertscore_tm.weighting import WEIGHTINGS, Uniform
from tiny import LAYERS

NAMES = list(ABOUT)
# Another value than the default for each setting, and the parts of a metric that show it.
OTHER: dict[str, Any] = {
    "model_name_or_path": None,  # replaced by another encoder
    "num_layers": 1,
    "score": "recall",
    "reduction": "none",
    "lang": "de",
    "idf": True,
    "beta": 2.0,
    "rescale_with_baseline": Baseline([[0.5, 0.4, 0.3]] * 3),
    "baseline_path": None,  # replaced by a file, with rescale_with_baseline=True
    "match_special_tokens": False,
    "matching": "mutual",
    "multi_reference": "mean",
    "overflow": "window",
    "max_length": 9,
    "empty_score": -1.0,
    "dtype": "bfloat16",
    "revision": None,  # folders have none; test_strange_encoders.py has hub names
    "safetensors_only": False,
    "batch_tokens": 100,
    "compile": True,
    "embedding_cache": 0,
    "verbose": True,
}


# ---------------------------------------------------------------- the other places that name them


def test_the_signature_of_the_metric_is_the_list() -> None:
    taken = inspect.signature(BERTScore).parameters.values()
    given = {p.name: p.default for p in taken if p.kind is not p.VAR_KEYWORD}
    assert given == dict(DEFAULTS)
    assert list(given) == NAMES
    kinds = {p.name: p.kind for p in taken}
    assert [n for n in NAMES if kinds[n] is inspect.Parameter.POSITIONAL_OR_KEYWORD] == NAMES[:2]


def test_the_types_of_the_function_are_those_of_the_list() -> None:
    """All but the encoder and its layers, which stand in front, and what it always returns."""
    written = {f.name: f.type for f in dataclasses.fields(Listed)}
    assert Options.__annotations__.keys() == {*NAMES} - set(NAMES[:2]) - {"score", "reduction"}
    for name, type_ in Options.__annotations__.items():
        assert getattr(type_, "__forward_arg__", type_) == written[name], name


def test_the_types_of_the_metric_are_those_of_the_list() -> None:
    for name, field in zip(NAMES, dataclasses.fields(Listed), strict=True):
        assert BERTScore.__init__.__annotations__[name] == field.type, name


@pytest.mark.parametrize("name", NAMES)
def test_each_setting_is_documented_and_has_one_line_of_help(name: str) -> None:
    assert re.search(rf"^\s+{name}: \S", inspect.getdoc(BERTScore.__init__) or "", re.M)
    assert ABOUT[name].help
    assert "\n" not in ABOUT[name].help


def test_the_hydra_defaults_are_the_list() -> None:
    text = (files("bertscore_tm.configs") / "metric" / "base.yaml").read_text(encoding="utf-8")
    values = yaml.safe_load(text)
    assert values.pop("_target_") == "bertscore_tm.BERTScore"
    assert values == dict(DEFAULTS)
    for name in NAMES:
        line = next(line for line in text.splitlines() if line.startswith(f"{name}:"))
        assert line.partition("  # ")[2] == ABOUT[name].help, f"{name}: wanted # {ABOUT[name].help}"


def test_the_command_line_has_a_flag_for_each() -> None:
    """But for those that it decides itself: what it prints, and when it shows a bar."""
    without = {name for name in NAMES if ABOUT[name].flag is None}
    assert without == {"score", "reduction", "verbose"}
    given = _parser().parse_args(["score", "-c", "a", "-r", "b"])
    assert settings_of(given) == {n: DEFAULTS[n] for n in NAMES if n not in without}


@pytest.mark.parametrize(
    "words, name, value",
    [
        ("--model x", "model_name_or_path", "x"), ("-m x", "model_name_or_path", "x"),
        ("-n 3,6", "num_layers", [3, 6]), ("-n all", "num_layers", "all"),
        ("-n 5", "num_layers", 5),
        ("-l de", "lang", "de"), ("--idf", "idf", True), ("--idf t.json", "idf", "t.json"),
        ("--beta 2", "beta", 2.0), ("--rescale-with-baseline", "rescale_with_baseline", True),
        ("--baseline-path b", "baseline_path", "b"),
        ("--no-match-special-tokens", "match_special_tokens", False),
        ("--multi-reference best_f1", "multi_reference", "best_f1"),
        ("--overflow window", "overflow", "window"), ("--max-length 9", "max_length", 9),
        ("--empty-score -1", "empty_score", -1.0), ("--dtype bfloat16", "dtype", "bfloat16"),
        ("--revision v2", "revision", "v2"), ("--trust-pickle", "safetensors_only", False),
        ("--batch-tokens 64", "batch_tokens", 64), ("--compile", "compile", True),
        ("--embedding-cache 1MB", "embedding_cache", "1MB"),
    ],
)  # fmt: skip
def test_flags_give_the_value(words: str, name: str, value: Any) -> None:
    given = _parser().parse_args(["score", "-c", "a", "-r", "b", *words.split()])
    assert settings_of(given) == {
        **settings_of(_parser().parse_args(["score", "-c", "a", "-r", "b"])),
        name: value,
    }


# ---------------------------------------------------------------- what a setting shapes


def test_no_setting_that_shapes_something_is_forgotten() -> None:
    """What shapes matches or scores has a name in the signature, and so has most that is left."""
    for name, about in ABOUT.items():
        assert about.shapes in ("matches", "scores", "answer", "work")
        if about.shapes in ("matches", "scores"):
            assert about.label is not None, name
    labels = [about.label or name for name, about in ABOUT.items() if about.label is not None]
    assert len(labels) == len(set(labels))


@pytest.fixture(scope="module")
def changed(tiny: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    table = tmp_path_factory.mktemp("tables") / "table.csv"
    table.write_text("LAYER,P,R,F\n" + "".join(f"{i},0.1,0.2,0.3\n" for i in range(9)))

    def make(name: str | None = None, **more: Any) -> Pipeline:
        given: dict[str, Any] = {"model_name_or_path": tiny("bert"), "num_layers": 2, **more}
        if name is not None:
            given[name] = OTHER[name]
        if name == "model_name_or_path":
            given[name] = tiny("roberta")
        if name == "baseline_path":
            given |= {"rescale_with_baseline": True, "baseline_path": str(table)}
        if name == "matching":
            given |= {"baseline_path": str(table)}
        return Pipeline(Settings(**given))

    return make


@pytest.mark.parametrize("name", NAMES)
def test_the_signature_tells_what_shapes_a_number(name: str, changed: Any) -> None:
    shapes = ABOUT[name].shapes != "work" and name not in ("score", "reduction")
    assert (changed(name).signature() != changed().signature()) == shapes
    assert changed(name).signature() == changed(name).signature()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("idf", [False, True])
def test_the_fingerprint_tells_what_shapes_the_state(name: str, idf: bool, changed: Any) -> None:
    """With idf the state is what is matched; F, references and the rest are made of it later."""
    if idf and name == "idf":
        return
    in_state = ("matches",) if idf else ("matches", "scores")
    differ = not torch.equal(changed(name, idf=idf).fingerprint(), changed(idf=idf).fingerprint())
    assert differ == (ABOUT[name].shapes in in_state)


# ---------------------------------------------------------------- reading them


def test_settings_can_be_read(tiny: Any) -> None:
    metric = BERTScore(tiny("bert"), [1, 2], idf=True, max_length=9)
    assert (metric.num_layers, metric.idf, metric.max_length, metric.lang) == (
        (1, 2),
        True,
        9,
        None,
    )
    assert (metric.score, metric.reduction, metric.beta) == ("f1", "mean", 1.0)
    assert metric.layers == (1, 2)
    assert metric.depth == LAYERS
    assert metric.settings.dtype == "float32"
    with pytest.raises(AttributeError, match="num_layer"):
        metric.num_layer  # noqa: B018


@pytest.mark.parametrize("name", NAMES)
def test_settings_never_change(name: str, tiny: Any) -> None:
    metric = BERTScore(tiny("bert"), 2)
    with pytest.raises(AttributeError, match=rf"setting '{name}' .* wanted another metric"):
        setattr(metric, name, OTHER[name])
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(metric.settings, name, OTHER[name])


def test_repr_shows_what_differs() -> None:
    assert repr(BERTScore("minilm")) == "BERTScore(model_name_or_path='minilm')"
    metric = BERTScore("minilm", 6, idf=True, empty_score=-1.0, batch_tokens=512)
    wanted = (
        "model_name_or_path='minilm', num_layers=6, idf=True, empty_score=-1.0, batch_tokens=512"
    )
    assert repr(metric) == f"BERTScore({wanted})"

    class Mine(BERTScore):
        pass

    assert repr(Mine("minilm", score=None)) == "Mine(model_name_or_path='minilm', score=None)"


# ---------------------------------------------------------------- checks

WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"score": "F1"}, ValueError, "got score='F1'; wanted 'f1', 'precision', 'recall' or None"),
    ({"score": "recal"}, ValueError, r"None \(did you mean 'recall'\?\)"),
    ({"reduction": None}, ValueError, "got reduction=None; wanted 'mean' or 'none'"),
    ({"reduction": torch.ones(2)}, ValueError, "wanted 'mean' or 'none'"),
    ({"lang": 5}, TypeError, "got lang=5; wanted an ISO 639-1 code"),
    ({"lang": "english"}, ValueError, "got lang='english', which is .* did you mean 'en'"),
    ({"beta": 0}, ValueError, "got beta=0; wanted a finite number above 0"),
    ({"beta": -1.0}, ValueError, "above 0"),
    ({"beta": float("nan")}, ValueError, "got beta=nan; wanted a finite number above 0"),
    ({"beta": "2"}, ValueError, "got beta='2'; wanted a finite number"),
    ({"beta": True}, ValueError, "got beta=True"),
    ({"match_special_tokens": 1}, TypeError, "got match_special_tokens=1; wanted True or False"),
    ({"compile": None}, TypeError, "got compile=None; wanted True or False"),
    ({"verbose": "no"}, TypeError, "got verbose='no'; wanted True or False"),
    ({"multi_reference": "best"}, ValueError, f"wanted .*{list(RULES)[-1]!r}"),
    ({"multi_reference": ["max"]}, ValueError, "got multi_reference="),
    ({"overflow": True}, ValueError, "got overflow=True; wanted 'truncate', 'window' or 'error'"),
    ({"dtype": torch.float32}, ValueError, "got dtype=torch.float32; wanted 'float32'"),
    (
        {"max_length": 0},
        ValueError,
        "got max_length=0; wanted a positive number of tokens, or None",
    ),
    (
        {"max_length": 5.0},
        TypeError,
        "got max_length=5.0; wanted a positive number of tokens or None",
    ),
    ({"max_length": True}, TypeError, "got max_length=True"),
    ({"batch_tokens": -1}, ValueError, "got batch_tokens=-1; wanted a positive number of tokens"),
    ({"batch_tokens": "many"}, TypeError, "got batch_tokens='many'"),
    ({"empty_score": None}, ValueError, "got empty_score=None; wanted a finite number"),
    ({"empty_score": float("inf")}, ValueError, "got empty_score=inf; wanted a finite number"),
    (
        {"embedding_cache": "much"},
        ValueError,
        "got embedding_cache='much'; wanted a number of bytes",
    ),
    ({"embedding_cache": 1.5}, TypeError, "got embedding_cache=1.5; wanted a number of bytes"),
]


@pytest.mark.parametrize("wrong, kind, message", WRONG, ids=str)
def test_wrong_values(wrong: dict[str, Any], kind: type[Exception], message: str) -> None:
    """The same words from the list, the metric and the function, before anything is loaded."""
    for make in (Settings, lambda **o: BERTScore("no/such-encoder", **o)):
        with pytest.raises(kind, match=message) as error:
            make(**wrong)
        assert isinstance(error.value, BERTScoreError)
    if not wrong.keys() & {"score", "reduction"}:
        with pytest.raises(kind, match=message):
            bert_score(["a"], ["b"], "no/such-encoder", **wrong)


@pytest.mark.parametrize(
    "right",
    [
        {"empty_score": Fraction(1, 3)}, {"beta": 3}, {"max_length": torch.tensor(9)},
        {"embedding_cache": "1 GiB"}, {"embedding_cache": 0}, {"lang": "PT-br"}, {"score": None},
    ],
    ids=str,
)  # fmt: skip
def test_odd_values_that_are_right(right: dict[str, Any], tiny: Any) -> None:
    metric = BERTScore(tiny("bert"), 2, **right)
    metric.update(["a"], ["a"])
    assert metric.signature


def test_choices_are_those_of_the_types() -> None:
    hints = get_type_hints(
        Listed, localns={"Baseline": Any, "IdfSetting": Any, "os": __import__("os")}
    )
    for name in ("score", "reduction", "overflow", "dtype"):
        named = [
            choice
            for part in (get_args(hints[name]) or (hints[name],))
            for choice in (get_args(part) or [part])
        ]
        assert {*ABOUT[name].choices} == {None if c is type(None) else c for c in named}
    assert ABOUT["multi_reference"].choices == tuple(RULES)


# ---------------------------------------------------------------- how messages call them


def test_messages_name_arguments_or_flags() -> None:
    assert spelled("dtype", "float16") == "dtype='float16'"
    assert (spelled("num_layers"), spelled_open("lang")) == ("num_layers", "lang=")
    with spelled_as_flags():
        assert spelled("dtype", "float16") == "--dtype float16"
        assert (spelled("num_layers"), spelled_open("lang")) == ("--num-layers", "--lang ")
        assert spelled("rescale_with_baseline", True) == "--rescale-with-baseline"
        assert spelled("score", "f2") == "score='f2'"  # it has no flag
        with pytest.raises(ValueError, match=r"got --max-length 0; wanted a positive number"):
            Settings(max_length=0)
    assert spelled("dtype", "float16") == "dtype='float16'"


@pytest.mark.parametrize("wrong", ["unform", "epochs", "tabel.json"])
def test_weightings_by_name(wrong: str, tiny: Any) -> None:
    names = ", ".join(map(repr, WEIGHTINGS))
    with pytest.raises(
        TypeError, match=f"got idf='{wrong}'; wanted True, False, {names}, an IdfTable"
    ):
        BERTScore(tiny("bert"), 2, idf=wrong)
    assert isinstance(BERTScore(tiny("bert"), 2, idf="uniform").pipeline.weighting, Uniform)


def test_own_weightings_have_a_name(tiny: Any) -> None:
    class Nameless(Weighting):
        def weights(self, encoder: Any, references: Any) -> Any:
            return IdfTable({1: 1.0})

    with pytest.raises(
        ValueError, match="a weighting Nameless with the name ''; wanted one line of text"
    ):
        BERTScore(tiny("bert"), 2, idf=Nameless())


# ---------------------------------------------------------------- what is given stays as it was


def test_arguments_that_are_changed_later_change_nothing(tiny: Any) -> None:
    layers, weights = [1, 2], dict.fromkeys(range(300), 1.0)
    metric = BERTScore(tiny("bert"), layers, idf=weights, reduction="none")
    metric.update(["a dog ran"], ["a cat"])
    before = metric.compute()
    layers.append(0)
    weights.clear()
    weights[5] = 9.0
    again = pickle.loads(pickle.dumps(metric))
    assert (again.num_layers, again.layers) == ((1, 2), (1, 2))
    assert again.signature == metric.signature
    after = again.compute()
    assert all(torch.equal(after[name], value) for name, value in before.items())


def test_a_pickle_holds_the_baseline(tiny: Any, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("LAYER,P,R,F\n" + "".join(f"{i},0.1,0.2,0.3\n" for i in range(9)))
    metric = BERTScore(tiny("bert"), 2, rescale_with_baseline=True, baseline_path=table)
    metric.update(["a dog ran"], ["a cat"])
    value, saved = float(metric.compute()), pickle.dumps(metric)
    table.unlink()
    assert float(pickle.loads(saved).compute()) == value


def test_texts_of_enumerations_are_texts(tiny: Any) -> None:
    class Rule(str, enum.Enum):
        MEAN = "mean"

    one, two = (BERTScore(tiny("bert"), 2, multi_reference=r) for r in (Rule.MEAN, "mean"))
    assert one.signature == two.signature
    assert torch.equal(one.fingerprint, two.fingerprint)
    assert BERTScore(tiny("bert"), iter([1, 2])).layers == (1, 2)


@pytest.mark.parametrize(
    "name, a, b", [("beta", 1000001.0, 1000002.0), ("empty_score", 1234567.0, 1234568.0)]
)
def test_close_numbers_are_told_apart(name: str, a: float, b: float, tiny: Any) -> None:
    one, two = (BERTScore(tiny("bert"), 2, **{name: value}) for value in (a, b))
    assert one.signature != two.signature


@pytest.mark.parametrize("name", ["no", "epoch", "table@1234abcd"])
def test_a_weighting_has_a_name_of_its_own(name: str, tiny: Any) -> None:
    class Mine(Weighting):
        def weights(self, encoder: Any, frequencies: Any) -> Any:
            return IdfTable({1: 1.0})

    mine = Mine()
    mine.name = name
    with pytest.raises(ValueError, match=f"the name '{name}', which is that of another"):
        BERTScore(tiny("bert"), 2, idf=mine)
    mine.name = "a b"
    other = Mine()
    other.name = "a_b"
    one, two = (BERTScore(tiny("bert"), 2, idf=weighting) for weighting in (mine, other))
    assert not torch.equal(one.fingerprint, two.fingerprint)


CHANGES = [name for name, about in ABOUT.items() if about.shapes in ("matches", "scores", "answer")]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [n for n in CHANGES if n not in ("score", "reduction")])
def test_each_setting_that_shapes_something_changes_a_number(name: str, changed: Any) -> None:
    """A setting that stands in all lists and does nothing would pass every other test."""
    preds = ["a dog ran", "the cat sat on the mat and slept all day long in the sun", "", "rain"]
    target = [["a cat", "the dog ran home"], ["a cat slept"], ["b"], ["rain fell", "snow"]]

    def scores(pipeline: Pipeline) -> torch.Tensor:
        matched = pipeline.match(read_rows(preds, target), torch.device("cpu"))
        frequencies = None
        if pipeline.weighting.needs_epoch:
            everything = torch.ones(len(preds), dtype=torch.bool)
            parts = matched.matches.ref, matched.references
            frequencies = epoch_frequencies(*parts, everything, alone)
        return pipeline.finish(pipeline.score(matched, frequencies)[0])

    more = {"max_length": 9} if name == "overflow" else {}
    before, after = scores(changed(**more)), scores(changed(name, **more))
    assert before.shape != after.shape or not torch.allclose(before, after, rtol=0, atol=1e-7)
