"""Coverage-guided fuzzing of what reads files and texts of others; the laws are those of
tests/hostile.py.

make fuzz                                   # five minutes
make fuzz FUZZ_ARGS="-runs=1000000"         # options of libFuzzer; a file name repeats a crash
"""

import json
import sys
import tempfile
import warnings
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
with atheris.instrument_imports(include=["bertscore_tm"]):
    import torch

    from bertscore_tm import Baseline, BERTScore, BERTScoreWarning, IdfTable
    from bertscore_tm.languages import language_code
    from bertscore_tm.names import find_source
    from bertscore_tm.references import RULES
    from bertscore_tm.textfiles import printable, read_texts
    from bertscore_tm.weights import folder_digest
    from hostile import WORDS, finite, ours

FOLDER = Path(tempfile.mkdtemp(prefix="fuzz-"))
FIELDS = {"format": "bertscore_tm idf 1", "documents": 3, "tokenizer": "words", "unseen": 1.5}


def file(data: atheris.FuzzedDataProvider, name: str, head: bytes = b"") -> Path:
    path = FOLDER / name
    path.write_bytes(head + data.ConsumeBytes(sys.maxsize))
    return path


def baseline(data: atheris.FuzzedDataProvider) -> None:
    head = b"LAYER,P,R,F\n0,0.1,0.2,0.3\n" if data.ConsumeBool() else b""
    table = Baseline.load(file(data, "table.tsv", head))
    finite(table.rescale(torch.zeros(1, 1, 3, dtype=torch.float64), (0,)).float(), -3e38, 1)


def idf(data: atheris.FuzzedDataProvider) -> None:
    head = (json.dumps(FIELDS)[:-1] + ', "weights": {').encode() if data.ConsumeBool() else b""
    weights = IdfTable.load(file(data, "idf.json", head))(torch.arange(99))
    assert bool((weights >= 0).all())
    assert bool(torch.isfinite(weights).all())


def lines(data: atheris.FuzzedDataProvider) -> None:
    ending = data.PickValueInList(["txt", "tsv", "jsonl", "txt.gz", "jsonl.gz"])
    column = data.PickValueInList([None, "ref", "\x1b"])
    for text in read_texts(str(file(data, f"lines.{ending}")), column):
        assert isinstance(text, str) or all(isinstance(one, str) for one in text)


def weights(data: atheris.FuzzedDataProvider) -> None:
    assert len(str(folder_digest(file(data, "model.safetensors").parent))) == 8


def words(data: atheris.FuzzedDataProvider) -> None:
    options = {
        "idf": data.ConsumeBool(),
        "multi_reference": data.PickValueInList(list(RULES)),
    }
    metric = BERTScore(WORDS, 1, score=None, match_special_tokens=data.ConsumeBool(), **options)
    for _ in range(data.ConsumeIntInRange(1, 2)):
        rows = data.ConsumeIntInRange(0, 3)
        groups = [
            [data.ConsumeUnicode(20) for _ in range(data.ConsumeIntInRange(0, 2))]
            for _ in range(rows)
        ]
        preds = [data.ConsumeUnicode(20) for _ in range(data.ConsumeIntInRange(0, 3))]
        with ours(metric):
            metric.update(preds, groups, data.PickValueInList([None, list(range(rows))]))
    if metric.counts.sum():
        finite(metric.compute())


def names(data: atheris.FuzzedDataProvider) -> None:
    text = data.ConsumeUnicode(40)
    assert printable(text).isprintable()
    with ours():
        find_source(text)
    assert language_code(text)


TARGETS = [baseline, idf, lines, weights, words, names]


def one_input(data: bytes) -> None:
    provider = atheris.FuzzedDataProvider(data)
    with ours():
        TARGETS[provider.ConsumeIntInRange(0, len(TARGETS) - 1)](provider)


if __name__ == "__main__":
    warnings.simplefilter("ignore", BERTScoreWarning)
    torch.set_num_threads(1)
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
