"""What is compared: this package, bert-score, torchmetrics, and the machine's own speed."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import torch
import transformers
from rows import Setting
from torch import Tensor

from bertscore_tm import BERTScore, HuggingFaceEncoder

Run = Callable[[], Any]


def folder(model: str) -> str:
    """Where the weights are, for packages that do not know the alias."""
    return HuggingFaceEncoder(model).location


def ours(preds: Sequence[str], refs: Sequence[str], model: Any, layer: Any, **options: Any) -> Run:
    """An update and a compute of a new metric.

    The weights are loaded before, the cache is off unless asked for.
    """
    options = {"embedding_cache": 0, "score": None, "reduction": "none", **options}
    rows = options.pop("rows", len(preds))
    metric = BERTScore(model, layer, **options)
    metric.update(["load the weights"], ["and trim the layers"])

    def run() -> Any:
        metric.reset()
        for i in range(0, len(preds), rows):
            metric.update(preds[i : i + rows], refs[i : i + rows])
        return metric.compute()

    run.metric = metric  # type: ignore[attr-defined]
    return run


def ours_with_a_tiny_encoder(
    preds: Sequence[str], refs: Sequence[str], model: str, layer: int
) -> Run:
    """This package with one random layer of width 32 in place of the encoder: all else is left."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder(model))
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
    )
    torch.manual_seed(0)
    return ours(preds, refs, HuggingFaceEncoder(transformers.BertModel(config), tokenizer), layer)


def bert_score_package(
    preds: Sequence[str], refs: Sequence[str], model: str, layer: int, rows: int = 0
) -> Run:
    """bert-score with its defaults (batches of 64); results as precision, recall, f1."""
    from bert_score import BERTScorer

    scorer = BERTScorer(model_type=folder(model), num_layers=layer, device="cpu")
    rows = rows or len(preds)

    def run() -> dict[str, Tensor]:
        parts = [
            scorer.score(list(preds[i : i + rows]), list(refs[i : i + rows]))
            for i in range(0, len(preds), rows)
        ]
        return dict(zip(("precision", "recall", "f1"), (torch.cat(part) for part in zip(*parts))))

    return run


def torchmetrics_package(preds: Sequence[str], refs: Sequence[str], model: str, layer: int) -> Run:
    """torchmetrics' BERTScore with its defaults, allowed the encoder's 512 tokens."""
    from torchmetrics.text.bert import BERTScore as Theirs

    metric = Theirs(
        model_name_or_path=folder(model), num_layers=layer, max_length=512, truncation=True
    )

    def run() -> dict[str, Tensor]:
        metric.reset()
        metric.update(list(preds), list(refs))
        return {name: torch.as_tensor(value) for name, value in metric.compute().items()}

    return run


def shapes(model: str) -> tuple[int, int]:
    """Width of the hidden states and of the layer between."""
    config = transformers.AutoConfig.from_pretrained(folder(model))
    return config.hidden_size, getattr(config, "intermediate_size", 4 * config.hidden_size)


def flops(texts: Sequence[str], model: str, layers: int) -> float:
    """Operations of the matrix products of one pass over the distinct texts, without padding."""
    width, between = shapes(model)
    lengths = [
        len(tokens.ids) for tokens in HuggingFaceEncoder(model).tokenize(list(dict.fromkeys(texts)))
    ]
    products = 2 * (4 * width * width + 2 * width * between) * sum(lengths)
    attention = 4 * width * sum(length * length for length in lengths)
    return float(layers * (products + attention))


def matmul_rate(
    model: str, dtype: torch.dtype = torch.float32, rows: int = 2_048, seconds: float = 3.0
) -> float:
    """Operations a second of plain matrix products of one layer's shapes."""
    width, between = shapes(model)
    sizes = [(width, width)] * 4 + [(width, between), (between, width)]
    tensors = [
        (torch.randn(rows, n, dtype=dtype), torch.randn(n, m, dtype=dtype)) for n, m in sizes
    ]
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        for a, b in tensors:
            torch.mm(a, b)
        done += sum(2 * rows * n * m for n, m in sizes)
    return done / (time.perf_counter() - start)


def alternate(
    runs: dict[str, Run], setting: Setting, results: dict[str, Any] | None = None
) -> dict[str, list[float]]:
    """Seconds of each, taken in turn, so that all see the same machine; as many rounds as fit.

    What they returned last goes into ``results``.
    """
    results = {} if results is None else results
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in setting.turns():
            for name, run in runs.items():
                start = time.perf_counter()
                results[name] = run()
                seconds[name].append(time.perf_counter() - start)
    return seconds


def ratio(seconds: dict[str, list[float]], slow: str, fast: str) -> float:
    """How many times as fast: the median over the rounds."""
    return median(a / b for a, b in zip(seconds[slow], seconds[fast]))
