"""A signature leads back to the settings that it was made from."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from hydra import compose, initialize_config_module
from hydra.utils import instantiate

from bertscore_tm import Baseline, BERTScore, HuggingFaceEncoder, IdfTable
from bertscore_tm.cli import main
from bertscore_tm.errors import InvalidValueError
from bertscore_tm.restoring import restore
from bertscore_tm.settings import ABOUT, DEFAULTS, Settings

WHOLE = (
    "encoder:a@b|tokenizer:t@1|layers:6|idf:no|beta:1|baseline:no|special_tokens:matched|"
    "matching:greedy|references:max|overflow:truncate|max_length:512|empty:0|dtype:float32|"
    "bertscore_tm:0.1.0|torch:2.13.0|transformers:5.24.0"
)
CASES: list[dict[str, Any]] = [
    {},
    {"num_layers": 5},
    {"num_layers": [3, 6]},
    {"num_layers": "all", "idf": True},
    {"beta": 0.1, "empty_score": -1.5, "max_length": 99},
    {"match_special_tokens": False, "multi_reference": "best_f1", "overflow": "window"},
    {"dtype": "bfloat16", "max_length": 512},
]


@pytest.mark.parametrize("settings", CASES, ids=str)
def test_all_three_forms_give_the_same_signature(settings: dict[str, Any]) -> None:
    line = BERTScore("minilm", **settings).signature
    restored = restore(line)
    assert not restored.lacking
    code = eval(restored.as_code(), {"BERTScore": BERTScore})
    assert code.signature == line

    overrides = shlex.split(restored.as_overrides())
    with initialize_config_module("bertscore_tm.configs", version_base="1.3"):
        made = instantiate(compose(overrides=[f"+{overrides[0]}", *overrides[1:]]).metric)
    made = made if isinstance(made, BERTScore) else made()
    assert made.signature == line

    given = shlex.split(restored.as_command())
    assert given[:6] == ["bertscore-tm", "score", "-c", "PREDICTIONS", "-r", "REFERENCES"]
    from bertscore_tm.cli import _parser
    from bertscore_tm.flags import settings_of

    parsed = settings_of(_parser().parse_args(given[1:]))
    assert Settings(**parsed).changed() == Settings(**restored.settings).changed()


def test_each_part_of_a_signature_is_read() -> None:
    """A new setting that is part of the line has a reader, too."""
    line = BERTScore("minilm").signature
    named = {
        about.label or name
        for name, about in ABOUT.items()
        if about.label is not None and about.shapes != "work"
    }
    assert named <= {part.partition(":")[0] for part in line.split("|")}
    for name in named:
        parts = [p for p in line.split("|") if not p.startswith(f"{name}:")]
        if name in ("beta", "matching"):  # earlier lines have none
            assert restore("|".join(parts)).settings == restore(line).settings
        elif name != "encoder":
            with pytest.raises(InvalidValueError, match=rf"got a signature without {name}; wanted"):
                restore("|".join(parts))
        wrong = "|".join([*parts, f"{name}:?"])
        if name not in ("encoder", "idf", "baseline"):
            with pytest.raises(
                InvalidValueError, match=rf"got {name}:\? in a signature; wanted a v"
            ):
                restore(wrong)


def test_a_packaged_table_brings_its_language() -> None:
    line = BERTScore("minilm").signature.replace("baseline:no", "baseline:de/some/encoder")
    assert restore(line).settings["lang"] == "de"
    assert restore(line).settings["rescale_with_baseline"] is True
    line = line.replace("matching:greedy", "matching:mutual(de/some/encoder)")
    assert restore(line).settings["matching"] == "mutual"


def lacking(minilm: str) -> dict[str, BERTScore]:
    from transformers import AutoModel, AutoTokenizer

    encoder = HuggingFaceEncoder(minilm)
    table = Baseline([[0.1] * 3] * 7)
    own = HuggingFaceEncoder(
        AutoModel.from_pretrained(minilm), AutoTokenizer.from_pretrained(minilm)
    )
    return {
        "idf": BERTScore("minilm", idf=IdfTable.fit(["a b"], encoder)),
        "baseline": BERTScore("minilm", rescale_with_baseline=table),
        "matching": BERTScore("minilm", matching="mutual", rescale_with_baseline=table),
        "encoder": BERTScore(own),
    }


def test_what_a_line_cannot_say_is_said(minilm: str, capsys: pytest.CaptureFixture[str]) -> None:
    for name, metric in lacking(minilm).items():
        restored = restore(metric.signature)
        assert name in restored.lacking
        assert main(["signature", metric.signature]) == 2
        out, error = capsys.readouterr()
        assert out.startswith("code: BERTScore(")  # the rest is there
        assert f"error: the line does not say all: {name}: " in error or name == "matching"
        assert ("of your own: m" if name == "encoder" else "known by its digest alone: ") in error
        assert main(["signature", metric.signature, "--check"]) == 2
        assert "got --check for a signature that does not say all (" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line, message",
    [
        ("", "got '' as a signature; wanted a line such as encoder:NAME@"),
        ("nonsense", "got 'nonsense' as a signature"),
        (
            "encoder:a@b|layers:6",
            "got a signature without idf, baseline, special_tokens, references,",
        ),
        (
            f"{WHOLE}|new:1",
            "got the parts new in a signature, which this version does not know; wanted one that "
            "bertscore_tm 0.1.0 reads",
        ),
    ],
)
def test_lines_that_are_none(line: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InvalidValueError) as error:
        restore(line)
    assert message in str(error.value)
    assert main(["signature", line]) == 2
    assert message in capsys.readouterr().err


def test_the_command(minilm: str, capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    line = BERTScore("minilm", 5, idf=True, max_length=100).signature
    assert main(["signature", line]) == 0
    assert capsys.readouterr().out.splitlines() == [
        'code: BERTScore("minilm", 5, idf=True, max_length=100)',
        "overrides: metric=base metric.model_name_or_path=minilm metric.num_layers=5 "
        "metric.idf=true metric.max_length=100",
        "command: bertscore-tm score -c PREDICTIONS -r REFERENCES --model minilm --num-layers 5 "
        "--idf --max-length 100",
    ]
    assert main(["signature", line, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["settings"] == {
        "model_name_or_path": "minilm", "num_layers": 5, "idf": True, "max_length": 100,
    }  # fmt: skip
    assert main(["signature", line, "--check"]) == 0
    assert capsys.readouterr().out.endswith("differs here: nothing\n")
    old = line.replace("transformers:", "transformers:1.").replace("@", "@0")
    assert main(["signature", old, "--check"]) == 2
    said, error = capsys.readouterr()
    assert "differs here: transformers is " in said
    assert "differs here: encoder is " in said
    assert "got --check, and 3 parts of the line differ here" in error
    file = tmp_path / "signature.txt"
    file.write_text(f"{line}\n")
    assert main(["signature", str(file)]) == 0
    assert "num_layers=5" in capsys.readouterr().out


def test_a_line_that_is_cut_off_is_never_read_as_another() -> None:
    whole = restore(WHOLE)
    for end in range(len(WHOLE)):
        try:
            cut = restore(WHOLE[:end])
        except InvalidValueError:
            continue
        assert (cut.settings, cut.lacking) == (whole.settings, whole.lacking)
        assert "|transformers:" in WHOLE[:end]


@pytest.mark.parametrize(
    "part, value, message",
    [
        ("layers", "6,6", "got layers:6,6 in a signature; wanted each once, from 0"),
        ("layers", "-9", "got layers:-9 in a signature; wanted each once, from 0"),
        ("beta", "nan", "got beta=nan; wanted a finite number above 0"),
        ("beta", "-3", "got beta=-3.0; wanted"),
        ("empty", "inf", "got empty_score=inf; wanted a finite number"),
        ("max_length", "-1", "got max_length=-1; wanted a positive number of tokens"),
    ],
)
def test_values_that_no_metric_takes(part: str, value: str, message: str) -> None:
    old = next(each for each in WHOLE.split("|") if each.startswith(f"{part}:"))
    with pytest.raises(InvalidValueError) as error:
        restore(WHOLE.replace(old, f"{part}:{value}"))
    assert message in str(error.value)


def test_a_part_stands_once() -> None:
    with pytest.raises(InvalidValueError, match="got layers more than once in a signature"):
        restore(f"{WHOLE}|layers:6")
    with pytest.raises(InvalidValueError, match="got encoder more than once"):
        restore(f"{WHOLE}|{WHOLE}")
    with pytest.raises(InvalidValueError, match="got the parts '' in a signature"):
        restore(f"{WHOLE}|")


def test_code_names_what_is_yours() -> None:
    line = WHOLE.replace("idf:no", "idf:table@1").replace("encoder:a@b", "encoder:custom:X@b")
    line = line.replace("baseline:no", "baseline:own@2")
    restored = restore(line)
    assert restored.as_code() == (
        "BERTScore(YOUR_ENCODER, 6, max_length=512, idf=YOUR_TABLE, rescale_with_baseline=True, "
        "baseline_path=YOUR_BASELINE)"
    )
    assert "--model YOUR_ENCODER" in restored.as_command()
    assert "--rescale-with-baseline --baseline-path YOUR_BASELINE" in restored.as_command()
    assert "metric.idf=YOUR_TABLE" in restored.as_overrides()
    mutual = restore(WHOLE.replace("matching:greedy", "matching:mutual(own@2)")).as_code()
    assert mutual.endswith('matching="mutual", max_length=512, baseline_path=YOUR_BASELINE)')


def test_names_that_need_quotes() -> None:
    line = BERTScore("minilm").signature.replace(
        "sentence-transformers/all-MiniLM-L6-v2@", "/home/it's me/a@b@"
    )
    restored = restore(line.replace(" ", "_"))
    assert restored.settings["model_name_or_path"] == "/home/it's_me/a@b"
    command = shlex.split(restored.as_command())
    assert command[command.index("--model") + 1] == "/home/it's_me/a@b"
    assert eval(restored.as_code(), {"BERTScore": lambda *a, **k: a})[0] == "/home/it's_me/a@b"


def test_defaults_are_left_out() -> None:
    restored = restore(BERTScore("minilm").signature)
    assert {
        name for name in restored.settings if restored.settings[name] == DEFAULTS[name]
    } == set()
