"""What must hold for hostile and odd input: finite numbers, or an error of our own, after which all
is as before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor

import bertscore_tm
from bertscore_tm import BERTScore, Tokens

PACKAGE = str(Path(bertscore_tm.__file__).parent)
# What an error says beside what was got.
WANTED = re.compile(
    "wanted|did you mean|here this is|has hidden states|the limit is|it has |it holds "
)


class Words:
    """A token a word, whatever the word is."""

    name, version, tokenizer_id, depth, default_layers = "words", "1", "words", 2, (1,)

    def __init__(self) -> None:
        self.table = torch.randn(3, 100, 8, generator=torch.Generator().manual_seed(7))

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        ids = [[1, *(3 + sum(map(ord, word)) % 97 for word in text.split()), 2] for text in texts]
        return [Tokens(text, [i > 2 for i in text]) for text in ids]

    def hidden_states(
        self, input_ids: Tensor, attention_mask: Tensor, layers: Sequence[int]
    ) -> Tensor:
        return (
            self.table[list(layers)][:, input_ids]
            + 0.01 * torch.arange(input_ids.shape[1])[:, None]
        )


WORDS = Words()


@contextmanager
def ours(metric: BERTScore | None = None) -> Iterator[None]:
    """Let pass an error of our own that says what was wanted, if the metric is then as it was
    before."""
    before = snapshot(metric)
    try:
        yield
    except Exception as error:  # noqa: BLE001 - what it is shows below
        is_ours(error)
        assert snapshot(metric) == before


def is_ours(error: BaseException) -> None:
    end = error.__traceback__
    while end is not None and end.tb_next is not None:
        end = end.tb_next
    if (
        isinstance(error, OSError) and error.errno is not None
    ):  # the system's own: it names the file
        assert error.filename, repr(error)
        return
    assert isinstance(error, (TypeError, ValueError, OSError, FloatingPointError)), repr(error)
    assert end is not None
    assert end.tb_frame.f_code.co_filename.startswith(PACKAGE), repr(error)
    assert WANTED.search(str(error)), repr(error)


def snapshot(metric: BERTScore | None) -> str:
    if metric is None:
        return ""
    state = {name: [part.tolist() for part in value] for name, value in metric.metric_state.items()}
    return repr((state, metric.update_count))


def finite(values: dict[str, Tensor] | Tensor, low: float = -1.0, high: float = 1.0) -> None:
    for value in values.values() if isinstance(values, dict) else [values]:
        assert value.dtype == torch.float32
        assert bool(((value >= low) & (value <= high)).all()), value  # neither holds of NaN
