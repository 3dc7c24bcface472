"""Settings that will not do are refused before any work, in one line that says what would."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from commands import TINY, outcome, places
from composing import composed, names
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from omegaconf import OmegaConf
from summarizer.errors import SettingError, blame, nearest, one_line
from summarizer.launching import _remove_if_empty
from summarizer.settings import check_evaluation, check_training
from train import run

WRONG = [
    ("task=trian", r"got task=trian; wanted fit, validate or test"),
    ("task=tset", r"got task=tset; .*did you mean test\?"),
    ("task=null", r"got task=null; wanted fit"),
    ("test=perhaps", r"got test=perhaps; wanted true or false"),
    ("test=1", r"got test=1; wanted true or false"),
    ("seed=-1", r"got seed=-1; wanted a whole number from 0"),
    ("seed=one", r"got seed=one; wanted a whole number"),
    ("seed=true", r"got seed=true; wanted a whole number"),
    ("num_threads=0", r"got num_threads=0; wanted a whole number from 1, or null"),
    ("checkpoint=nowhere.ckpt", r"got checkpoint=nowhere\.ckpt; wanted a file that exists"),
    ("metric.reduction=none", r"got metric\.reduction=none; wanted mean: validation logs one"),
    ("metric.score=null", r"got metric\.score=null; wanted f1, precision or recall"),
    ("metric.score=recal", r"got metric\.score=recal; .*did you mean recall\?"),
    ("metric.num_layers=[1,2]", r"got metric\.num_layers=\[1,2\]; wanted null or one layer"),
    ("metric.num_layers=all", r"got metric\.num_layers=all; wanted null or one layer"),
    ("data.batch_size=0", r"got data\.batch_size=0; wanted a whole number from 1"),
    ("data.eval_batch_size=1.5", r"got data\.eval_batch_size=1\.5; wanted a whole number"),
    ("data.num_workers=-1", r"got data\.num_workers=-1; wanted a whole number from 0"),
    ("data.max_val=0", r"got data\.max_val=0; wanted a whole number from 1, or null"),
    ("data.packages=torch", r"got data\.packages=torch; wanted a list of names"),
    ("data.packages=[]", r"got data\.packages=\[\]; wanted a list of names"),
    ("data=hub", r"got no data\.name; wanted data\.name=VALUE"),
    ("model=pretrained", r"got no model\.name; wanted model\.name=VALUE"),
    ("model.dropout=1", r"got model\.dropout=1; wanted a number from 0 to below 1"),
    ("model.max_target_tokens=2", r"got model\.max_target_tokens=2; wanted a whole number from 3"),
    ("model.num_layers=many", r"got model\.num_layers=many; wanted a whole number from 1"),
    (
        "+model.droput=0.1",
        r"got model\.droput, which summarizer\.models\.tiny does not take.*dropout",
    ),
    ("~model.vocab_size", r"got no model\.vocab_size; wanted it"),
    ("model._target_=summarizer.models.tinny", r"model\._target_: .*tinny"),
    ("optimizer.lr=0", r"got optimizer\.lr=0; wanted a number above 0"),
    ("optimizer.lr=nan", r"got optimizer\.lr=nan; wanted a number above 0"),
    ("scheduler.num_warmup_steps=-5", r"got scheduler\.num_warmup_steps=-5; wanted a whole number"),
    ("trainer.max_epochs=0", r"got trainer\.max_epochs=0; wanted a whole number from 1, or -1"),
    ("+trainer.max_epoch=3", r"got trainer\.max_epoch, which lightning\.Trainer.*max_epochs\?"),
    ("generation.choice=bmr", r"got generation\.choice=bmr; wanted first, .*did you mean mbr\?"),
    ("generation.choice=mbr", r"choice=mbr with one candidate; wanted .*num_return_sequences"),
    ("+generation.generation.max_tokens=5", r"max_tokens; wanted an argument.*max_new_tokens\?"),
    ("+generation.generation.num_return_sequences=4", r"=4 without chance and with num_beams=1"),
    ("+generation.choise=mbr", r"got generation\.choise; .*did you mean choice\?"),
    ("~generation.generation", r"got no generation\.generation; wanted the arguments of generate"),
    ("generation.generation.max_new_tokens=0", r"max_new_tokens=0; wanted a whole number from 1"),
    ("callbacks.samples.most=0", r"got callbacks\.samples\.most=0; wanted a whole number from 1"),
    ("callbacks.early_stopping.monitor=val_bert", r"=val_bert; .*did you mean val_bertscore\?"),
    ("callbacks.checkpoint.monitor=val_rouge", r"=val_rouge; .*did you mean val_rougeL\?"),
    ("callbacks.score_table.columns=[val_f]", r"columns=\[val_f\]; wanted a list of val_bertscore"),
    ("+callbacks.samples.least=3", r"got callbacks\.samples\.least, which .*Samples does not take"),
    *((f"~{key}", rf"got no {key}; wanted") for key in ("task", "test", "seed", "name")),
    ("~num_threads", r"got no num_threads; wanted .*null"),
    *(
        (f"~{group}", rf"got no {group}; wanted {group}=NAME, one of .*{names(group)[0]}")
        for group in ("data", "model", "generation", "optimizer", "scheduler", "trainer")
    ),
    ("~metric", r"got no metric; wanted metric=NAME, one of base, .*minilm"),
    ("name=${nothing}", r"the configuration: .*nothing"),
]


@pytest.mark.parametrize("override, message", WRONG, ids=[override for override, _ in WRONG])
def test_a_wrong_setting_is_named(override: str, message: str) -> None:
    with pytest.raises(SettingError, match=message) as caught:
        check_training(composed(override))
    assert "\n" not in one_line(caught.value)


@pytest.mark.parametrize(
    "override",
    [
        "metric.num_layers=[5]",
        "metric.num_layers=0",
        "trainer.max_epochs=-1",
        "~callbacks",
        "~logger",
        "callbacks=none",
        "generation=best_of_n",
        "generation=mbr",
        "+metric.sync_on_compute=false",
        "+trainer.max_steps=5",
    ],
)
def test_a_right_setting_is_let_through(override: str) -> None:
    check_training(composed(override))


# Settings that only those can judge who use them: tried before data and model are made.
TRIED = [
    ("metric.num_layers=9", r"metric: got layer 9; .*0 .*to 6"),
    ("+metric.num_layer=5", r"metric: got the unknown argument 'num_layer'; did you mean"),
    (
        "metric.model_name_or_path=./nowhere",
        r"metric: the encoder folder './nowhere' was not found",
    ),
    ("scheduler.name=linaer", r"scheduler: linaer is not a valid .*linear"),
    ("scheduler.name=reduce_lr_on_plateau", r"got a scheduler that waits for a score; wanted one"),
    ("optimizer.betas=[2,2]", r"optimizer: Invalid beta"),
    ("trainer.precision=17", r"trainer: Precision 17 is invalid"),
    ("trainer.limit_val_batches=2.5", r"trainer: .*limit_val_batches"),
    ("callbacks=with_layers callbacks.layers.layers=[9]", r"callbacks\.layers: got layer 9"),
    ("callbacks=with_layers callbacks.layers.layers=al", r"callbacks\.layers: got .*'al'"),
    ("data.packages=[torhc]", r"data: the package 'torhc' is not installed.*did you mean torch\?"),
    ("data=files", r"data: there is no file for 'train'; wanted data\.train=FILE"),
    ("data=files data.train=no.jsonl", r"data: data\.train=no\.jsonl is no file"),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("overrides, message", TRIED, ids=[overrides for overrides, _ in TRIED])
def test_settings_are_tried_before_the_model_is_made(
    overrides: str, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("summarizer.models.tiny", lambda **settings: pytest.fail("made the model"))
    monkeypatch.setattr("summarizer.data.docstrings.read_package", lambda package: iter(()))
    with pytest.raises(SettingError, match=message):
        run(composed(*overrides.split(), *places(tmp_path, tmp_path), "logger=none"))


@pytest.mark.parametrize(
    "override, message",
    [
        ("metric.score=f1", r"got metric\.score=f1; wanted null: all three scores are written"),
        ("metric.reduction=mean", r"got metric\.reduction=mean; wanted none"),
        ("prediction=null", r"got prediction=null; wanted a name"),
        ("target=[a]", r"got target=\[a\]; wanted a name"),
        ("~target", r"got no target; wanted a name"),
        ("~metric", r"got no metric; wanted metric=NAME"),
        ("predictions=???", r"got no predictions; wanted predictions=VALUE"),
        (
            "predictions=??? prediction=x.jsonl",
            r"got no predictions, and prediction=x\.jsonl.*did you mean predictions=x\.jsonl\?",
        ),
    ],
)
def test_a_wrong_setting_of_an_evaluation_is_named(override: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        check_evaluation(composed("predictions=x.jsonl", *override.split(), config="evaluate"))


@pytest.mark.parametrize(
    "override, line",
    [
        ("metric=minlm", r"got metric=minlm; wanted one of base, .*; did you mean minilm\?"),
        ("model=tyni", r"got model=tyni; wanted one of bart_base, .*; did you mean tiny\?"),
        ("modle=tiny", r"got modle, which is no setting; did you mean model\?"),
        ("trainer.max_epoch=3", r"got trainer\.max_epoch, .*did you mean trainer\.max_epochs\?"),
        (
            "metric.num_layer=5",
            r"got metric\.num_layer, which .*; did you mean metric\.num_layers\?",
        ),
        (
            "model.name=x",
            r"got model\.name, which this model does not have; wanted it together with "
            r"model=bart_base, model=marian, model=pretrained or model=t5_small",
        ),
        (
            "data.train=x.csv",
            r"got data\.train, which this data does not have; wanted it together with data=files",
        ),
        (
            "callbacks.layers.layers=5",
            r"got callbacks\.layers, .* with callbacks=layers or callbacks=with_layers",
        ),
        (
            "data.trian=x.csv",
            r"got data\.trian, .*; did you mean data\.train, which data=files has\?",
        ),
        ("optimizer.lr.x=3", r"got optimizer\.lr\.x, but optimizer\.lr has no settings of its own"),
        ("~model.name", r"got ~model\.name, which is not there"),
        ("~calbacks", r"got ~calbacks, which is not there; did you mean callbacks\?"),
        ("metric.num_layers=[1,2", r"no viable alternative at input '\[1,2'"),
    ],
)
def test_what_hydra_refuses_is_one_line_too(override: str, line: str) -> None:
    with pytest.raises(HydraException) as caught:
        composed(override)
    assert re.fullmatch(line, one_line(caught.value))


def test_lines() -> None:
    assert one_line(KeyError("no key 'a'")) == "no key 'a'"
    assert one_line(ValueError("two\n  lines")) == "two lines"
    assert one_line(ValueError()) == "ValueError"
    assert nearest("minlm", ["minilm", "roberta"]) == "; did you mean minilm?"
    assert nearest("xyz", ["minilm", "roberta"]) == ""
    with pytest.raises(SettingError, match=r"^model: too large$"), blame("model"):
        raise ValueError("too\nlarge")
    with pytest.raises(SettingError, match=r"^inner$"), blame("model"):
        raise SettingError("inner")
    with pytest.raises(AssertionError), blame("model"):  # a bug is no setting
        raise AssertionError


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run."""
    folder = tmp_path_factory.mktemp("trained")
    run(composed(*TINY, "logger=none", *places(folder, folder)))
    return folder


@pytest.mark.filterwarnings("ignore")
def test_checkpoints_that_will_not_do(trained: Path, tmp_path: Path) -> None:
    last = trained / "checkpoints" / "last.ckpt"

    def refused(message: str, *overrides: str) -> None:
        with pytest.raises(SettingError, match=message):
            run(composed(*TINY, "logger=none", *places(tmp_path, trained), *overrides))

    refused(r"trained for 1 epochs, and trainer\.max_epochs=1; wanted more", f"checkpoint={last}")
    odd = r"whose weights do not fit this model \(\d+ differ; .* is \[.*\] there, .* here\)"
    refused(odd, f"checkpoint={last}", "model.d_model=64", "task=validate")
    more = r"\(\d+ differ; .* is missing there\); wanted the model settings"
    refused(more, f"checkpoint={last}", "model.num_layers=3", "task=validate")
    for content in (b"", b"not a checkpoint"):
        (tmp_path / "odd.ckpt").write_bytes(content)
        refused(r"no checkpoint of Lightning; wanted", f"checkpoint={tmp_path}/odd.ckpt")
    torch.save({"a": 1}, tmp_path / "other.ckpt")
    refused(r"no checkpoint of Lightning; wanted", f"checkpoint={tmp_path}/other.ckpt")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("overrides", ["callbacks=none", "~callbacks", "debug=fast"])
def test_without_a_best_checkpoint_the_last_weights_are_tested(
    overrides: str, tmp_path: Path, trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(composed(*TINY, overrides, "~logger", "test=true", *places(tmp_path, trained)))
    assert "No best checkpoint was kept: the last weights are tested." in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layers", ["[5]", "5"])
def test_the_table_of_one_layer(layers: str, tmp_path: Path, trained: Path) -> None:
    from summarizer.reports import read_tsv

    choice = ["callbacks=with_layers", f"callbacks.layers.layers={layers}", "logger=none"]
    value = run(composed(*TINY, *choice, "metric.num_layers=5", *places(tmp_path, trained)))
    (row,) = read_tsv(tmp_path / "layers.tsv")
    assert float(row["layer_5"]) == pytest.approx(value, abs=2e-6)


@pytest.mark.slow
def test_a_command_ends_with_one_line(tmp_path: Path) -> None:
    done = outcome("train.py", "task=trian", folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr == "train.py: got task=trian; wanted fit, validate or test (fit trains)\n"
    done = outcome("train.py", "metric=minlm", folder=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    done = outcome("evaluate.py", "predictions=no.jsonl", folder=tmp_path)
    assert done.returncode == 1
    assert not [path for path in tmp_path.glob("outputs/*/*") if path.parent.name != "data"]
    assert re.fullmatch(r"evaluate\.py: predictions=no\.jsonl is no file \(.*\)\n", done.stderr)


def test_only_what_hydra_made_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def folder(name: str, log: str = "", **more: str) -> Path:
        path = tmp_path / name
        (path / ".hydra").mkdir(parents=True)
        files = {"train.log": log, ".hydra/config.yaml": "a: 1", **more}
        for file, text in files.items():
            (path / file).write_text(text)
        cfg = {"runtime": {"output_dir": str(path)}, "job": {"name": "train"}}
        job = OmegaConf.create({**cfg, "output_subdir": ".hydra"})
        monkeypatch.setattr(HydraConfig, "initialized", lambda: True)
        monkeypatch.setattr(HydraConfig, "get", lambda: job)
        return path

    for name, more in {"log": {"log": "x"}, "own": {"x.txt": ""}, "sub": {".hydra/x": ""}}.items():
        kept = folder(name, **more)
        before = sorted(kept.rglob("*"))
        _remove_if_empty()
        assert sorted(kept.rglob("*")) == before
    kept = folder("here")
    monkeypatch.chdir(kept)
    _remove_if_empty()
    assert (kept / ".hydra" / "config.yaml").is_file()
    monkeypatch.chdir(tmp_path)
    _remove_if_empty()
    assert not kept.exists()


@pytest.mark.slow
def test_everything_is_shown_on_request(tmp_path: Path) -> None:
    done = outcome("train.py", "task=trian", folder=tmp_path, HYDRA_FULL_ERROR="1")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "SettingError: got task=trian" in done.stderr


@pytest.mark.slow
def test_a_sweep_names_each_job_that_fails_and_does_the_others(tmp_path: Path) -> None:
    file = tmp_path / "predictions.jsonl"
    file.write_text('{"prediction": "a cat", "target": "the cat"}\n')
    layers = ["-m", "metric.num_layers=9,5,10", f"hydra.sweep.dir={tmp_path}/sweep"]
    done = outcome("evaluate.py", *layers, f"predictions={file}", folder=tmp_path)
    assert done.returncode == 1
    first, second = done.stderr.splitlines()
    assert re.match(r"evaluate\.py: job 0: metric: got layer 9;", first)
    assert re.match(r"evaluate\.py: job 2: metric: got layer 10;", second)
    assert (tmp_path / "sweep" / "1" / "layers.tsv").is_file()


def test_every_example_of_a_rule_is_a_setting() -> None:
    """A rule for a key that no configuration has would check nothing."""
    from summarizer.settings import _EVALUATION, _TRAINING, _flat, fnmatchcase

    groups = ["data", "model", "generation", "optimizer", "scheduler", "trainer", "callbacks"]
    plain: list[dict[str, Any]] = [
        OmegaConf.to_container(composed(f"{group}={name}"), resolve=True)
        for group in groups
        for name in names(group)
        if name not in ("hub", "pretrained")
    ]
    more = ["data=hub", "data.name=x", "data.source=x", "data.target=x"]
    plain.append(OmegaConf.to_container(composed(*more), resolve=True))
    keys = {key for settings in plain for key, _ in _flat(settings)}
    for rule in _TRAINING:
        assert any(fnmatchcase(key, rule) for key in keys), rule
    settings = composed("predictions=x", config="evaluate")
    keys = {key for key, _ in _flat(OmegaConf.to_container(settings, resolve=True))}
    assert _EVALUATION.keys() <= keys
