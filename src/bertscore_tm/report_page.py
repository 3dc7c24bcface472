"""The page of a report: one file that holds its data, its styles and its script.

The data is JSON in a script element that nobody runs, and `page/report.js` makes the page of it,
texts as text nodes only. The page may run that script alone, and load nothing: it says so to the
browser in its policy.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from itertools import chain
from typing import Any

from .html_view import SCRIPT, STYLE

# Bytes of the texts of a page, and the lengths, in characters, to which they are cut where they
# have more: a browser opens a file of 30 MB within seconds.
TEXT_BYTES = 18_000_000
_LENGTHS = (4000, 2000, 1000, 500, 250, 120)
# What would end the element, begin a comment in it, or end a line for old JavaScript.
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def as_report_page(data: Mapping[str, Any]) -> str:
    """The data of a report, as `Report.to_dict` gives it, as a page."""
    style = f"{STYLE}\n{_read('report.css')}"
    script = f"{SCRIPT}\n{_read('report.js')}"
    allowed = f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'"
    title = escape(re.sub("[\ud800-\udfff]", "\ufffd", data["title"]))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(allowed)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f'<header><h1 dir="auto">{title}</h1></header>\n<main id="report">\n'
        "<noscript>This page shows its data by a script of its own, which this browser does not "
        "run.</noscript>\n</main>\n"
        f'<script type="application/json" id="data">{as_safe_json(with_short_texts(data))}'
        f"</script>\n<script>{script}</script>\n</body>\n</html>\n"
    )


def as_safe_json(data: object) -> str:
    """JSON that can stand in a script element, whatever its texts are."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def with_short_texts(data: Mapping[str, Any], most: int = TEXT_BYTES) -> dict[str, Any]:
    """The data with its texts cut where all of them would be too much, which ``cut`` then says.

    Args:
        data: as `Report.to_dict` gives it.
        most: bytes of all texts.
    """
    texts = [*chain.from_iterable(data["references"]), *(data["sources"] or ())]
    texts += chain.from_iterable(system["predictions"] for system in data["systems"])
    sizes = [(len(text), len(text.encode("utf-8", "surrogatepass"))) for text in texts]
    if sum(size for _, size in sizes) <= most:
        return {**data, "cut": None}
    cut = next((n for n in _LENGTHS if _size(sizes, n) <= most), _LENGTHS[-1])

    def short(text: str) -> str:
        return text if len(text) <= cut else f"{text[:cut]}…"

    systems = [
        {**system, "predictions": [short(text) for text in system["predictions"]]}
        for system in data["systems"]
    ]
    references = [[short(text) for text in group] for group in data["references"]]
    sources = data["sources"] and [short(text) for text in data["sources"]]
    return {**data, "systems": systems, "references": references, "sources": sources, "cut": cut}


def _size(sizes: list[tuple[int, int]], length: int) -> float:
    """About how many bytes texts have of which no more than some characters are left."""
    return sum(size * min(1.0, length / count) for count, size in sizes if count)


def _read(name: str) -> str:
    return (files("bertscore_tm") / "page" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """How a policy names a script or a style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
