"""Language codes, and the encoder of the paper's package for a language."""

from __future__ import annotations

import re

from .names import paper_tables

# ISO 639-1, and the further codes among the 104 languages of multilingual BERT.
_LANGUAGES = frozenset(
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo "
    "es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg "
    "ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn "
    "no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st su sv sw "
    "ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu "
    "als arz azb bar bpy ceb ckb lmo mai min nds new pms pnb scn sco yue".split()
)


def language_code(code: str) -> str:
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


def default_encoder(lang: str) -> str:
    """The encoder of the paper's package for a language, as `language_code` returns it."""
    models: dict[str, str] = paper_tables()["lang2model"]
    return models.get(lang, models["default"])
