"""Every model of the configurations is made, writes and learns, offline: trained ones tiny."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from composing import composed, names
from hydra.utils import instantiate
from lightning import Trainer
from saved_models import POSITIONS, save
from summarizer.models import frequent_words, pretrained, reduced, warm_started
from summarizer.module import Summarizer
from torch import nn

pytestmark = pytest.mark.filterwarnings("ignore")  # Lightning has advice for runs of this size

KINDS = {"t5_small": "t5", "bart_base": "bart", "marian": "marian", "pretrained": "bart"}
ROWS = [
    {"id": 0, "source": "the cat sat on the mat " * 30, "targets": ["a cat sat"]},
    {"id": 1, "source": "rain fell on the old town", "targets": ["rain fell on the town"]},
    {"id": 2, "source": "", "targets": [""]},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


def config(name: str, folder: Path) -> Any:
    own = (
        [f"model.name={save(KINDS[name], folder)}"] if name in KINDS else ["model.vocab_size=3000"]
    )
    return composed(f"model={name}", *own, "generation.generation.max_new_tokens=6")


def module_of(cfg: Any) -> Summarizer:
    parts = instantiate(cfg, _convert_="all")
    settings = (parts[name] for name in ("model", "metric", "optimizer", "scheduler"))
    return Summarizer(*settings, **parts["generation"])


class Modes(Summarizer):
    """Notes which dropouts are active in each kind of step."""

    seen: dict[str, set[bool]]

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        self.seen.setdefault("train", set()).update(modes(self.model))
        return super().training_step(batch, batch_idx)

    def validation_step(self, batch: Any, batch_idx: int) -> Any:
        self.seen.setdefault("val", set()).update(modes(self.model))
        return super().validation_step(batch, batch_idx)


def modes(model: nn.Module) -> set[bool]:
    found = [part.training for part in model.modules() if isinstance(part, nn.Dropout)]
    assert found or not any(isinstance(part, nn.Dropout) for part in model.modules())
    return {model.training, *found, *(part.training for part in model.modules())}


@pytest.mark.parametrize("name", names("model"))
def test_every_model_writes_and_learns_with_dropout(name: str, folder: Path) -> None:
    module = module_of(config(name, folder))
    module.__class__, module.seen = Modes, {}
    frozen = {key for key, weight in module.named_parameters() if not weight.requires_grad}
    before = {key: weight.detach().clone() for key, weight in module.named_parameters()}
    loader = torch.utils.data.DataLoader(ROWS, batch_size=3, collate_fn=module.batches.collate)
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "logger": False}
    trainer = Trainer(
        accelerator="cpu", max_epochs=2, enable_checkpointing=False, num_sanity_val_steps=1, **quiet
    )
    module.scheduler = lambda optimizer, num_training_steps: torch.optim.lr_scheduler.ConstantLR(
        optimizer, 1.0
    )
    trainer.fit(module, loader, loader)
    assert module.seen == {"train": {True}, "val": {False}}
    assert 0 <= float(trainer.callback_metrics["train_loss"]) < 20
    moved = {key for key, weight in module.named_parameters() if not weight.equal(before[key])}
    assert moved
    assert not moved & frozen
    assert all(weight.dtype == torch.float32 for weight in module.parameters())


@pytest.mark.parametrize("name", names("model"))
def test_labels_are_what_the_decoder_continues(name: str, folder: Path) -> None:
    """The model puts its start before the labels; they end with the end of the text."""
    model, batches = instantiate(config(name, folder)["model"])
    labels = batches.collate(ROWS[:2])["labels"]
    start = model.config.decoder_start_token_id
    ids = [[i for i in row if i != -100] for row in labels.tolist()]
    ends = (batches.tokenizer.eos_token_id, batches.tokenizer.sep_token_id)
    end = ends[0] if ends[0] is not None else ends[1]
    for row, wanted in zip(ids, ["a cat sat", "rain fell on the town"], strict=True):
        assert row[0] != start
        assert row[-1] == end
        assert batches.tokenizer.decode(row, skip_special_tokens=True).strip() == wanted
    # Teacher forcing of these labels is what the model computes itself.
    model.eval()
    batch = batches.collate(ROWS[:2])
    inputs = {key: batch[key] for key in ("input_ids", "attention_mask")}
    shifted = torch.full_like(labels, model.config.pad_token_id)
    shifted[:, 0] = start
    shifted[:, 1:] = labels[:, :-1].masked_fill(labels[:, :-1] == -100, model.config.pad_token_id)
    with torch.no_grad():
        logits = model(**inputs, decoder_input_ids=shifted).logits
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        assert float(model(**inputs, labels=labels).loss) == pytest.approx(float(loss), abs=1e-4)


def test_all_dropouts_of_a_warm_start_are_active() -> None:
    model, _ = warm_started("minilm", 3000, 16, 8, 2, 2, freeze_encoder=True)
    active = [part.training for part in model.modules() if isinstance(part, nn.Dropout)]
    assert active == [True] * 18


def test_a_module_trains_whatever_mode_its_model_came_in(folder: Path) -> None:
    cfg = config("tiny", folder)
    parts = instantiate(cfg, _convert_="all")
    parts["model"].model.eval()
    settings = (parts[name] for name in ("model", "metric", "optimizer", "scheduler"))
    assert modes(Summarizer(*settings, **parts["generation"]).model) == {True}


def test_lengths_stay_within_the_positions_of_the_model(folder: Path) -> None:
    _, batches = pretrained(str(save("bart", folder)), 1024, 128)
    assert (batches.max_source_tokens, batches.max_target_tokens) == (POSITIONS, POSITIONS)
    _, batches = pretrained(str(save("t5", folder)), 1024, 128)
    assert (batches.max_source_tokens, batches.max_target_tokens) == (1024, 128)


def test_a_text_above_the_positions_is_refused_before_training(folder: Path) -> None:
    cfg = config("pretrained", folder)
    cfg.generation.generation.max_new_tokens = POSITIONS + 1
    with pytest.raises(ValueError, match=rf"max_new_tokens={POSITIONS + 1}.*at most {POSITIONS}"):
        module_of(cfg)


def test_an_encoder_is_no_generator(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"kind 'bert'; wanted one that goes from sequence to seq"):
        pretrained(str(save("bert", folder)), 16, 8)


def test_a_model_that_does_not_say_how_it_begins(folder: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    path = str(save("t5", folder))
    model = AutoModelForSeq2SeqLM.from_pretrained(path)
    model.config.decoder_start_token_id = None
    model.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(path).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"has no decoder_start_token_id; wanted"):
        pretrained(str(tmp_path), 16, 8)


def test_sizes_that_do_not_fit_the_encoder(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"encoder_layers=9 of minilm, which has 6"):
        warm_started("minilm", 3000, 16, 8, 9, 1, freeze_encoder=True)
    with pytest.raises(ValueError, match=r"vocab_size=50; wanted more than 103"):
        frequent_words("minilm", 50)
    with pytest.raises(ValueError, match=r"d_model=9 for word vectors of 8 dimensions"):
        reduced(torch.randn(20, 8), 9)
    with pytest.raises(ValueError, match=r"kind 'bart'|not that of a BERT"):
        warm_started(str(save("bart", folder)), 300, 16, 8, 1, 1, freeze_encoder=True)


def test_nothing_is_said_of_the_weights(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pretrained(str(save("t5", folder)), 16, 8)


@pytest.mark.slow
def test_without_a_network_a_hub_name_fails_at_once() -> None:
    """The library of the hub alone takes half a minute for each file: six times, with pauses."""
    code = """
import sys, time
from summarizer.models import pretrained
began = time.monotonic()
try:
    pretrained("no-one/no-model", 16, 8)
except OSError as error:
    print(error)
print(round(time.monotonic() - began, 1))
"""
    nobody = {"HF_HUB_OFFLINE": "0", "HF_ENDPOINT": "http://127.0.0.1:9"}
    environment = {**os.environ, **nobody, "PYTHONPATH": os.pathsep.join(sys.path)}
    line = [sys.executable, "-c", code]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    said, seconds = done.stdout.splitlines()
    assert said.startswith("got name=no-one/no-model, which cannot be loaded (")
    assert float(seconds) < 15
    assert "Retrying" not in done.stderr
