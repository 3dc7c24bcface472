"""The rows for a GPU: large encoders of the hub under each attention, dtype and engine.

`bench.py --device cuda` measures them; every row names what it lacks where it cannot run.
"""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import torch
import transformers
from contestants import ratio
from rows import NotRun, Numbers, Row, Setting

from bertscore_tm import BERTScore, HuggingFaceEncoder

MODELS = {"roberta-large": 17, "microsoft/deberta-xlarge-mnli": 40}
# What is varied: the attention of transformers, the dtype, the engine.
VARIANTS: dict[str, tuple[str, str, bool]] = {
    "float32": ("sdpa", "float32", False),
    "bfloat16": ("sdpa", "bfloat16", False),
    "bfloat16, flash attention": ("flash_attention_2", "bfloat16", False),
    "bfloat16, compiled": ("sdpa", "bfloat16", True),
}


def rows(device: str, models: dict[str, int]) -> dict[str, Row]:
    """One row for each encoder and variant."""
    found = {}
    for model, layer in models.items():
        for name, variant in VARIANTS.items():
            row = _row(device, model, layer, name, variant)
            found[row.name] = row
    return found


def _row(device: str, model: str, layer: int, name: str, variant: tuple[str, str, bool]) -> Row:
    said = (
        "{pairs_a_second:.0f} pairs a second ({times_bert_score:.2f} times bert-score), peak "
        "{peak_mb:.0f} MB over the weights (bert-score {peak_bert_score_mb:.0f} MB), mean F1 "
        "{mean_f1:.4f} (bert-score {mean_f1_bert_score:.4f})"
    )

    def measure(s: Setting) -> Numbers:
        try:
            return _measure(s, device, model, layer, variant)
        except (ImportError, OSError, ValueError, RuntimeError) as error:
            first = (str(error).splitlines() or [type(error).__name__])[0]
            raise NotRun(first.replace("|", "/")) from error

    return Row(f"{model}, {name}", f"{model} layer {layer}, {name}", said, (), measure)


def encoder(model: str, layer: int, attention: str, dtype: str, device: str) -> HuggingFaceEncoder:
    """An encoder whose attention was chosen, as a custom model."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    loaded: Any = transformers.AutoModel.from_pretrained(
        model, attn_implementation=attention, torch_dtype=getattr(torch, dtype)
    )
    return HuggingFaceEncoder(loaded.eval().to(device), tokenizer, num_layers=layer)


def _measure(
    s: Setting, device: str, model: str, layer: int, variant: tuple[str, str, bool]
) -> Numbers:
    from bert_score import BERTScorer

    attention, dtype, compiled = variant
    given: Any = model
    options: dict[str, Any] = {"dtype": dtype, "compile": compiled}
    if attention != "sdpa":  # sdpa is what transformers takes by itself
        given, options = encoder(model, layer, attention, dtype, device), {}
    metric: Any = BERTScore(given, layer, embedding_cache=0, score=None, **options).to(device)
    theirs = BERTScorer(model_type=model, num_layers=layer, device=device)
    preds, refs = s.pairs
    seconds: dict[str, list[float]] = {"ours": [], "bert_score": []}
    peaks: dict[str, float] = {}

    def ours() -> Any:
        metric.reset()
        metric.update(preds, refs)
        return metric.compute()["f1"]

    def package() -> Any:
        return theirs.score(preds, refs)[2].mean()

    ours()  # loads, compiles
    means: dict[str, float] = {}
    for _ in s.turns():
        for name, run in (("ours", ours), ("bert_score", package)):
            before = _peak(device, reset=True)
            start = time.perf_counter()
            means[name] = float(run())
            seconds[name].append(time.perf_counter() - start)
            peaks[name] = _peak(device) - before
    return {
        "seconds": seconds,
        "pairs_a_second": len(preds) / median(seconds["ours"]),
        "times_bert_score": ratio(seconds, "bert_score", "ours"),
        "peak_mb": peaks["ours"],
        "peak_bert_score_mb": peaks["bert_score"],
        "mean_f1": means["ours"],
        "mean_f1_bert_score": means["bert_score"],
    }


def _peak(device: str, reset: bool = False) -> float:
    """Most memory of the device so far, in MB; reset: what is held now, and count anew."""
    if not device.startswith("cuda"):
        return 0.0
    torch.cuda.synchronize()
    if reset:
        torch.cuda.reset_peak_memory_stats()
        return torch.cuda.memory_allocated() / 1e6
    return torch.cuda.max_memory_allocated() / 1e6
