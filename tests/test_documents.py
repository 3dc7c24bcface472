"""What is written to be run is run: examples in docstrings, README blocks, commands, links."""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import re
import shlex
import warnings
from ast import literal_eval
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import bertscore_tm
from bertscore_tm import BERTScore, BERTScoreError, BERTScoreWarning, names, places
from bertscore_tm.cli import main

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
DOCUMENTS += sorted((ROOT / "docs").glob("*.md")) + sorted((ROOT / "examples").rglob("*.md"))
MODULES = sorted(path.stem for path in Path(bertscore_tm.__file__).parent.glob("*.py"))
Tiny = Callable[[str], str]


def blocks(path: Path, language: str) -> list[str]:
    text = path.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


@pytest.mark.parametrize("module", [name for name in MODULES if name != "__main__"])
def test_examples_in_docstrings(module: str) -> None:
    found = import_module(f"bertscore_tm.{module}")
    results = doctest.testmod(found)
    assert results.failed == 0
    if module in ("metric", "functional", "explaining"):
        assert results.attempted > 0


# ---------------------------------------------------------------- Python of the README


@pytest.fixture
def hub(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of the hub lead to a tiny encoder; all else is as ever."""
    find = names.find_source

    def found(name: Any) -> names.Source:
        source = find(name)
        return source if source.folder else names.Source(source.name, tiny("roberta"), True)

    monkeypatch.setattr(places, "find_source", found)


@pytest.fixture
def known(tiny: Tiny) -> dict[str, Any]:
    """What blocks take for granted."""
    from transformers import AutoModel, AutoTokenizer

    return {
        "model": AutoModel.from_pretrained(tiny("bert")),
        "tokenizer": AutoTokenizer.from_pretrained(tiny("bert")),
        "corpus": ["a dog", "rain fell"],
    }


@pytest.mark.filterwarnings("ignore")
def test_the_first_block_prints_what_stands_below_it(hub: None) -> None:
    block, said = (blocks(ROOT / "README.md", kind)[0] for kind in ("python", "text"))
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(block, "README.md", "exec"), {})
    value, signature = printed.getvalue().strip().splitlines()[-2:]
    wanted, line = said.strip().splitlines()
    assert literal_eval(value)[0] == pytest.approx(literal_eval(wanted)[0], abs=1e-5)
    assert signature.split("|bertscore_tm")[0] == line.split("|bertscore_tm")[0]


@pytest.mark.filterwarnings("ignore:.*nobody has measured")
def test_every_block_of_the_readme_runs(hub: None, known: dict[str, Any]) -> None:
    space = dict(known)
    ran = 0
    for block in blocks(ROOT / "README.md", "python"):
        if block.strip() == 'self.log("val_bertscore", self.bertscore)' or "_idx=0" in block:
            continue  # the line itself stands in the class below; the other has a test of its own
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(block, "README.md", "exec"), space)
        for line in re.findall(r"^print\(.*# (tensor.*)$", block, re.M):
            assert printed.getvalue().strip() == line
        ran += 1
    assert ran >= 8


PAGES = sorted(p for p in (ROOT / "docs").glob("*.md") if "```python" in p.read_text("utf-8"))
# These have tests of their own.
PAGES = [page for page in PAGES if page.stem not in ("recipes", "layers", "rescaling", "rules")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
@pytest.mark.filterwarnings("ignore")
def test_the_blocks_of_a_page_run(
    page: Path, minilm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after the other, in an empty folder; what a `print` says stands behind it, if at all."""
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {}
    for block in blocks(page, "python"):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(block, page.name, "exec"), space)
        for said in re.findall(r"^print\(.*\)  # (.*)$", block, re.M):  # "0.125: a reason"
            assert said.partition(":")[0] in printed.getvalue().splitlines()


@pytest.mark.filterwarnings("ignore:.*look like a reference")
def test_the_block_of_the_rules_gives_what_is_written(minilm: str) -> None:
    (block,) = blocks(ROOT / "docs" / "rules.md", "python")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(block, "rules.md", "exec"), {})
    assert f"`{printed.getvalue().strip()}`" in (ROOT / "docs" / "rules.md").read_text("utf-8")


class Rows(torch.utils.data.Dataset):  # type: ignore[type-arg]
    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> dict[str, Any]:
        return {"text": f"a dog ran home {i}", "summary": "the dog ran", "id": i}


@pytest.fixture
def lightning_block(hub: None, known: dict[str, Any]) -> type:
    space = dict(known)
    (block,) = (b for b in blocks(ROOT / "README.md", "python") if "training_step" in b)
    exec(compile(block, "README.md", "exec"), space)
    return space["Summarizer"]  # type: ignore[no-any-return]


@pytest.mark.filterwarnings("ignore")
def test_the_lightning_block_trains_and_logs(
    lightning_block: Any, tiny: Tiny, tmp_path: Path
) -> None:
    import lightning
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    seq2seq = AutoModelForSeq2SeqLM.from_pretrained(tiny("bart"))
    module = lightning_block(seq2seq, AutoTokenizer.from_pretrained(tiny("bart")))
    loader = torch.utils.data.DataLoader(Rows(), batch_size=2)
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = lightning.Trainer(
        accelerator="cpu", max_epochs=1, default_root_dir=tmp_path, num_sanity_val_steps=0, **quiet
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", BERTScoreWarning)
        warnings.filterwarnings("ignore", message=".*nothing to score", category=BERTScoreWarning)
        trainer.fit(module, loader, loader)
    assert 0 <= float(trainer.callback_metrics["val_bertscore"]) <= 1


@pytest.mark.filterwarnings("ignore")
def test_logging_a_dict_resets(hub: None, known: dict[str, Any], tmp_path: Path) -> None:
    """The block on `self.log_dict`: the second epoch is not mixed with the first."""
    import lightning

    space = dict(known)
    (block,) = (b for b in blocks(ROOT / "README.md", "python") if "self.log_dict" in b)
    exec(compile(block, "README.md", "exec"), space)
    logged = []

    class Module(lightning.LightningModule):
        on_validation_epoch_end = space["on_validation_epoch_end"]

        def __init__(self) -> None:
            super().__init__()
            self.bertscore = BERTScore("minilm", score=None)
            self.layer = torch.nn.Linear(1, 1)

        def training_step(self, batch: Any, _: int) -> Any:
            return self.layer(torch.ones(1, 1)).sum()

        def validation_step(self, batch: Any, _: int) -> None:
            texts = batch["text"]
            preds = texts if self.current_epoch else ["nothing like it"] * len(texts)
            self.bertscore.update(preds, texts)

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.1)

        def on_validation_end(self) -> None:
            logged.append(float(self.trainer.callback_metrics["f1"]))

    loader = torch.utils.data.DataLoader(Rows(), batch_size=2)
    trainer = lightning.Trainer(
        accelerator="cpu", max_epochs=2, default_root_dir=tmp_path, num_sanity_val_steps=0,
        logger=False, enable_progress_bar=False, enable_model_summary=False,
        enable_checkpointing=False,
    )  # fmt: skip
    trainer.fit(Module(), loader, loader)
    assert logged[0] < 0.9
    assert logged[1] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_two_validation_loaders(hub: None, known: dict[str, Any], tmp_path: Path) -> None:
    """The block on loaders (C-52): each loader has its own number, every epoch."""
    import lightning

    space: dict[str, Any] = {**known, "torch": torch, "BERTScore": BERTScore}
    (block,) = (b for b in blocks(ROOT / "README.md", "python") if "dataloader_idx" in b)
    logged = []

    class Module(lightning.LightningModule):
        exec(compile(block.replace("super().__init__()", "init(self)"), "README.md", "exec"),
             space | {"init": lightning.LightningModule.__init__}, locals())  # fmt: skip

        def training_step(self, batch: Any, batch_idx: int) -> Tensor:
            return sum(p.sum() for p in self.layer.parameters())  # type: ignore[return-value]

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.layer.parameters(), lr=0.1)

        def on_validation_end(self) -> None:
            names = [f"val_bertscore/dataloader_idx_{i}" for i in range(2)]
            logged.append([float(self.trainer.callback_metrics[name]) for name in names])

    preds = [["two cats sleep", "rain fell", "the dog ran"], ["a dog", "hello world"]]
    targets = [["two cats", "rain fell on the town", "a dog ran home"], ["the cat", "hello"]]
    loaders = [
        torch.utils.data.DataLoader(
            [{"preds": p, "summary": t, "id": i} for i, (p, t) in enumerate(zip(*rows))],  # type: ignore[arg-type]
            batch_size=2,
        )
        for rows in zip(preds, targets)
    ]
    module = Module()
    module.layer = torch.nn.Linear(1, 1)
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = lightning.Trainer(
        accelerator="cpu", max_epochs=2, default_root_dir=tmp_path, num_sanity_val_steps=0, **quiet
    )
    trainer.fit(module, torch.utils.data.DataLoader(range(2)), loaders)  # type: ignore[arg-type]
    wanted = [
        float(bertscore_tm.bert_score(p, t, "minilm")["f1"].mean()) for p, t in zip(preds, targets)
    ]
    assert logged == [pytest.approx(wanted, abs=1e-6)] * 2

    module.bertscores[1] = module.bertscores[0]
    with pytest.raises(BERTScoreError, match="one metric for two data sets or loaders"):
        trainer.validate(module, loaders, verbose=False)


# ---------------------------------------------------------------- commands


def commands(path: Path) -> Iterator[list[str]]:
    for block in blocks(path, "bash"):
        yield from words_of(block)


def words_of(block: str) -> Iterator[list[str]]:
    for line in block.replace("\\\n", " ").splitlines():
        if words := shlex.split(line, comments=True):
            yield words


def test_the_command_lines_of_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "preds.txt").write_text("a dog\nrain\n")
    (tmp_path / "refs.txt").write_text("a cat\nrain fell\n")
    rows = [
        {"prediction": "a dog", "reference": "a cat"},
        {"prediction": "rain", "reference": ["rain fell"]},
    ]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    others = [{"p": row["prediction"], "r": row["reference"]} for row in rows]
    (tmp_path / "preds.jsonl").write_text("\n".join(map(json.dumps, others)))
    (tmp_path / "one.txt").write_text("a dog\nrain\n")
    (tmp_path / "two.txt").write_text("a cat\nthe sun\n")
    judged = [f"a {word}\ta dog\t{i}" for i, word in enumerate("tree cat puppy dog".split())]
    (tmp_path / "judged.tsv").write_text("\n".join(["candidate\treference\thuman_score", *judged]))
    ran = 0
    for words in commands(ROOT / "README.md"):
        if words[0] != "bertscore-tm":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            if "--help" in words:
                with pytest.raises(SystemExit, match="0"):
                    main(words[1:])
            else:
                assert main(words[1:]) == 0
                if "-o" in words:
                    printed.write((tmp_path / words[words.index("-o") + 1]).read_text("utf-8"))
                # The values of the function's example.
                wanted = {"explain": "0.6034", "score": "F1 0.707|,0.603|\t0.603"}
                assert re.search(wanted.get(words[1], "."), printed.getvalue())
        ran += 1
    assert ran >= 3


@pytest.mark.parametrize("page", ["layers", "rescaling", "rules"])
@pytest.mark.filterwarnings("ignore:.*has a standard error of")
def test_the_blocks_of_a_page(
    page: str, minilm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In order, beside files of the names that they use."""
    monkeypatch.chdir(tmp_path)
    subjects, verbs = ("a dog", "the rain", "my brother", "a bank"), ("came", "fell", "ran home")
    texts = [f"{subject} {verb}" for subject in subjects for verb in verbs]
    for name in ("texts.txt", "refs.txt"):
        (tmp_path / name).write_text("\n".join(texts), encoding="utf-8")
    (tmp_path / "preds.txt").write_text("\n".join(texts[1:] + texts[:1]), encoding="utf-8")
    judged = [
        {"candidate": texts[i - 1], "references": [text], "human_score": i % 3, "lang": "de-en"}
        for i, text in enumerate(texts)
    ]
    (tmp_path / "judged.jsonl").write_text("\n".join(map(json.dumps, judged)), encoding="utf-8")
    whole = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    found = re.findall(r"^```(python|bash)\n(.*?)^```$", whole, re.M | re.S)
    assert found
    space: dict[str, Any] = {}
    for language, block in found:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            if language == "python" and page != "rules":  # which has a test of its own
                exec(compile(block, page, "exec"), space)
            for words in words_of(block) if language == "bash" else ():
                assert words[0] == "bertscore-tm"
                assert main(words[1:]) == 0
        for line in re.findall(r"^print\(.*# (\[[^]]*\])", block, re.M):
            assert line in printed.getvalue()


def test_make_targets_that_documents_name_exist() -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.M))
    named = {
        word
        for path in DOCUMENTS
        for word in re.findall(r"`make ([a-z0-9-]+)", path.read_text(encoding="utf-8"))
    }
    named |= {words[1] for path in DOCUMENTS for words in commands(path) if words[0] == "make"}
    assert {"test", "demo"} <= named <= targets


# ---------------------------------------------------------------- links and names


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if not re.match(r"https?://", target):
            assert (path.parent / target).exists(), target


def test_files_that_contributing_names_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for name in re.findall(r"`([\w/]+\.(?:py|yaml|md))`", text):
        places = (ROOT, ROOT / "src" / "bertscore_tm", ROOT / "tests")
        assert any((place / name).exists() for place in places), name
    for name in ("_OFFSET_POSITIONS", "config_depth", "add_setting_flags", "by_hand", "WEIGHTINGS"):
        assert name in text


def test_the_table_of_contributing_names_what_is_there() -> None:
    """Each name in code that it gives for a file is in one of them."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    sources = "".join(
        path.read_text(encoding="utf-8")
        for folder in ("src", "tests", "examples/encoders")
        for path in (ROOT / folder).rglob("*.py")
    )
    table = text[text.index("## I want to add") : text.index("## The way of a text")]
    for name in re.findall(r"`(_?[A-Za-z_]{4,})`", table):
        assert re.search(rf"\b{name}\b", sources), name
