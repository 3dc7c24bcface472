"""What a name means: an alias, a folder, a hub model."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from bertscore_tm import BERTScore, HuggingFaceEncoder, names
from bertscore_tm.errors import EncoderLoadError, EncoderNotFoundError
from bertscore_tm.languages import default_encoder
from bertscore_tm.names import Source, find_source, table_name, tuned_layer

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
Tiny = Callable[[str], str]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def encoder_folder(path: Path) -> Path:
    path.mkdir(parents=True)
    (path / "config.json").write_text("{}")
    return path


# ---------------------------------------------------------------- encoders


@pytest.mark.parametrize("name", ["minilm", "MiniLM", "MINILM", MINILM])
def test_the_offline_encoder(name: str, minilm: str, here: Path) -> None:
    assert find_source(name) == Source(MINILM, minilm, True)


def test_without_its_package_the_alias_is_a_hub_name(
    monkeypatch: pytest.MonkeyPatch, here: Path
) -> None:
    monkeypatch.setattr(names, "find_spec", lambda _: None)
    assert find_source("minilm") == Source(MINILM, MINILM, False)


@pytest.mark.parametrize(
    "name", ["roberta-large", "microsoft/deberta-base", "minilm2", "sentence-transformers/minilm"]
)
def test_hub_names(name: str, here: Path) -> None:
    assert find_source(name) == Source(name, name, False)


@pytest.mark.parametrize(
    "name", ["enc", "./enc", "a/enc", "a/b/enc", "./a/enc", "../up/enc", "enc/"]
)
def test_relative_folders(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    encoder_folder(Path(name))
    assert find_source(name) == Source(name, str(Path(name).resolve()), True)


def test_absolute_and_home_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    folder = encoder_folder(tmp_path / "enc")
    assert find_source(str(folder)) == Source(str(folder), str(folder.resolve()), True)
    assert find_source("~/enc") == Source("~/enc", str(folder.resolve()), True)
    assert find_source(folder) == Source(str(folder), str(folder.resolve()), True)  # a pathlib.Path


def test_a_folder_goes_before_a_hub_name(here: Path) -> None:
    """But not one that merely has its name, such as one of outputs."""
    (here / "roberta-large").mkdir()
    assert not find_source("roberta-large").folder
    (here / "roberta-large" / "config.json").write_text("{}")
    assert find_source("roberta-large") == Source(
        "roberta-large", str(here.resolve() / "roberta-large"), True
    )


def test_a_folder_with_the_name_of_the_alias(minilm: str, here: Path) -> None:
    encoder_folder(here / "minilm")
    assert find_source("minilm").location == minilm
    assert find_source("./minilm").location == str(here.resolve() / "minilm")


@pytest.mark.parametrize(
    "name",
    [
        "./nowhere",
        "../nowhere",
        "/no/where",
        "~/no/where/at/all",
        "~nobody/enc",
        "~\0",
        "~\ud800",
        "./" + "x" * 5000,
        "a/b/c",
        "a\\b",
        ".",
    ],
)
def test_folders_that_are_not_there(name: str, here: Path) -> None:
    if name == ".":  # is there, but holds no encoder: loading says so
        with pytest.raises(
            OSError, match=r"the encoder folder '\.' has no config\.json; wanted a folder that save"
        ):
            BERTScore(name, 2)
        return
    with pytest.raises(FileNotFoundError) as error:
        find_source(name)
    assert f"the encoder folder {name!r} was not found" in str(error.value)
    assert repr(str(Path.cwd())) in str(error.value)


def test_a_path_that_is_not_there(here: Path) -> None:
    """A `Path` is never a hub name."""
    with pytest.raises(FileNotFoundError, match="the encoder folder 'roberta-large' was not found"):
        find_source(Path("roberta-large"))


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "\ud800"])
def test_names_that_no_folder_can_have(name: str, here: Path) -> None:
    assert find_source(name).folder is False


def test_a_file_is_no_folder(here: Path) -> None:
    (here / "enc").write_text("")
    with pytest.raises(FileNotFoundError, match=r"got the file '\./enc' as encoder; wanted a"):
        find_source("./enc")


@pytest.mark.parametrize("name", ["", " ", "\t\n"])
def test_empty_names(name: str) -> None:
    with pytest.raises(
        ValueError,
        match="got an empty name as encoder; wanted a hub name, a folder or the alias 'minilm'",
    ):
        find_source(name)


@pytest.mark.parametrize("name", [3, b"minilm", ["minilm"], object()])
def test_what_is_no_name(name: Any) -> None:
    message = (
        f"got {type(name).__name__} as encoder; wanted a hub name, a folder, the alias 'minilm'"
    )
    with pytest.raises(TypeError, match=message):
        find_source(name)


def test_no_hub_name_and_no_network() -> None:
    message = r"could not load the configuration of encoder 'nobody/nothing' \(.*the alias 'minilm'"
    with pytest.raises(OSError, match=message):
        BERTScore("nobody/nothing", 2)


class Launched:
    """Stands for hydra.core.hydra_config: what names reads of it and no more."""

    def __init__(self, cwd: Path, initialized: bool = True) -> None:
        config = types.SimpleNamespace(runtime=types.SimpleNamespace(cwd=str(cwd)))
        self.HydraConfig = types.SimpleNamespace(
            initialized=lambda: initialized, get=lambda: config
        )


def test_where_hydra_was_launched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job, launch = tmp_path / "job", tmp_path / "launch"
    job.mkdir()
    encoder_folder(launch / "enc")
    monkeypatch.chdir(job)
    monkeypatch.setitem(sys.modules, "hydra.core.hydra_config", Launched(launch))  # type: ignore[misc]
    for name in ("./enc", "enc"):
        assert find_source(name).location == str((launch / "enc").resolve())
    encoder_folder(job / "enc")
    assert find_source("./enc").location == str((job / "enc").resolve())  # here goes first
    with pytest.raises(FileNotFoundError) as error:
        find_source("./nowhere")
    assert f"(relative paths were tried from {str(job)!r}, {str(launch)!r})" in str(error.value)
    monkeypatch.setitem(sys.modules, "hydra.core.hydra_config", Launched(launch, initialized=False))  # type: ignore[misc]
    (job / "enc" / "config.json").unlink()
    assert not find_source("enc").folder


# ---------------------------------------------------------------- layers


@pytest.mark.parametrize(
    "name, layer",
    [
        ("roberta-large", 17),
        ("FacebookAI/roberta-large", 17),
        ("google-bert/bert-base-uncased", 9),
        ("distilbert/distilbert-base-uncased", 5),
        ("bert-base-multilingual-cased", 9),
        ("microsoft/deberta-xlarge-mnli", 40),
        ("google-t5/t5-base", 11),
        (MINILM, 6),
        ("all-MiniLM-L6-v2", None),
        ("somebody/roberta-large", None),
        ("./roberta-large", None),
        ("/models/roberta-large", None),
        ("", None),
    ],
)
def test_tuned_layers(name: str, layer: int | None) -> None:
    assert tuned_layer(name) == layer


def test_layers_are_those_of_the_paper_s_package() -> None:
    utils = pytest.importorskip("bert_score.utils")
    ours = json.loads((Path(str(files("bertscore_tm"))) / "layers.json").read_text())
    assert ours["model2layers"] == utils.model2layers
    for lang in ("en", "zh", "tr", "en-sci", "de", "ur"):
        assert default_encoder(lang) == utils.lang2model[lang]


def test_the_tuned_layer_is_chosen(minilm: str) -> None:
    metric = BERTScore("minilm")
    assert f"encoder:{MINILM}@" in metric.signature
    assert "|layers:6|" in metric.signature
    assert BERTScore("minilm", 6).signature == metric.signature


def test_a_folder_has_no_tuned_layer(tiny: Tiny, here: Path) -> None:
    """Even one that is named like an encoder of the table: it may hold anything."""
    (here / "roberta-large").symlink_to(tiny("bert"))
    assert "|layers:2(default)|" in BERTScore("./roberta-large").signature


@pytest.mark.parametrize(
    "name, table",
    [
        ("FacebookAI/roberta-large", "roberta-large"),
        ("google-bert/bert-base-uncased", "bert-base-uncased"),
        ("xlnet/xlnet-base-cased", "xlnet-base-cased"),
        ("albert/albert-base-v2", "albert-base-v2"),
        ("openai-community/gpt2", "gpt2"),
        ("microsoft/deberta-base", "microsoft/deberta-base"),
        ("roberta-large", "roberta-large"),
        ("facebookai/roberta-large", "facebookai/roberta-large"),
    ],
)
def test_names_in_the_tables(name: str, table: str) -> None:
    assert table_name(name) == table


@pytest.mark.parametrize("name", ["minlm", "MiniLN", "mini-lm"])
def test_a_misspelled_alias_is_offered(name: str) -> None:
    with pytest.raises(OSError, match="did you mean 'minilm'"):
        BERTScore(name)
    with pytest.raises(OSError, match="it is no folder here") as error:
        BERTScore("no/such-encoder")
    assert "did you mean" not in str(error.value)


def test_a_file_is_no_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.ckpt").write_bytes(b"weights")
    monkeypatch.chdir(tmp_path)
    for name in ("x.ckpt", "./x.ckpt", str(tmp_path / "x.ckpt")):
        with pytest.raises(EncoderNotFoundError, match=r"got the file '.*x\.ckpt' as encoder; w"):
            find_source(name)


def test_an_empty_folder_says_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "enc").mkdir()
    with pytest.raises(EncoderLoadError, match=r"enc' has no config\.json; wanted"):
        HuggingFaceEncoder(str(tmp_path / "enc"))
