"""An alignment as a fragment of HTML, for notebooks and reports.

Tokens are inline spans without margin or padding, and marked by a line beneath: borders are seen,
and the letters of a word stay joined, also in scripts where they change with their neighbours.
Colours are laid over whatever background the page has, light or dark.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from .levels import LEVELS, floor_of, level_of
from .segments import Segment, isolated, segments_of

if TYPE_CHECKING:
    from .alignment import AlignedPair, AlignedText, AlignedToken, Alignment

_ORANGE, _BLUE = "230 115 0", "25 110 225"


def _level_styles() -> Iterator[str]:
    """A tint from orange (least alike) to blue, and a line beneath with gaps between tokens."""
    for level in range(LEVELS + 1):
        share = 2 * level / LEVELS - 1  # from -1 to 1
        color, strength = (_BLUE if share > 0 else _ORANGE), abs(share)
        tint, line = f"rgb({color}/{0.32 * strength:.2f})", f"rgb({color}/{strength:.2f})"
        line = "rgb(128 128 128/.6)" if strength < 0.15 else line
        yield f".bsa .s{level}{{--t:{tint};--l:{line}}}"


STYLE = (
    ".bsa{line-height:1.5;max-width:70em}"
    ".bsa p{margin:.3em 0;white-space:pre-wrap;overflow-wrap:anywhere}"
    ".bsa .text{font-size:1.1em;line-height:2.1}"
    ".bsa small,.bsa summary,.bsa output{opacity:.75;font-size:.85em}"
    ".bsa output{display:block;min-height:1.5em;white-space:pre-wrap}"
    ".bsa [data-i]{cursor:default;border-radius:2px;background:linear-gradient(var(--l),var(--l))"
    " bottom/calc(100% - 2px) 2px no-repeat,var(--t,transparent);--l:rgb(128 128 128/.6)}"
    ".bsa bdi{font-size:.7em;opacity:.6;margin:0 .4em}"
    ".bsa .cut{opacity:.45;text-decoration:line-through}"
    ".bsa [data-i]:focus{outline:2px solid}"
    ".bsa .on{outline:2px solid rgb(230 0 120);z-index:1}"
    ".bsa .by{outline:2px dotted rgb(230 0 120)}" + "".join(_level_styles())
)
# One listener for all fragments of a page. The spans hold the places of their tokens (data-i) and
# of the matches of these (data-m), the title what is said of them.
SCRIPT = """
(function () {
  if (window.bsaReady) return;
  window.bsaReady = true;
  var has = function (list, other) {
    var two = (other || "").split(" ");
    return (list || "").split(" ").some(function (i) { return i && two.indexOf(i) >= 0; });
  };
  var show = function (event) {
    document.querySelectorAll(".bsa .on, .bsa .by").forEach(function (span) {
      span.classList.remove("on", "by");
    });
    var token = event.target.closest && event.target.closest(".bsa [data-i]");
    if (!token) return;
    var pair = token.closest(".pair"), own = token.closest(".text");
    token.classList.add("on");
    pair.querySelectorAll(".text").forEach(function (text) {
      if (text === own) return;
      text.querySelectorAll("[data-i]").forEach(function (span) {
        if (has(token.dataset.m, span.dataset.i)) span.classList.add("on");
        else if (has(span.dataset.m, token.dataset.i)) span.classList.add("by");
      });
    });
    pair.querySelector("output").textContent = token.title;
  };
  document.addEventListener("mouseover", show);
  document.addEventListener("focusin", show);
})();
"""
SHARED = f"<style>{STYLE}</style><script>{SCRIPT}</script>"


def as_html(alignment: Alignment, shared: bool = True) -> str:
    """See `Alignment.to_html`."""
    scores = (alignment.precision, alignment.recall, alignment.f1)
    said = " &nbsp; ".join(f"{n} <b>{v:.4f}</b>" for n, v in zip(("P", "R", "F1"), scores))
    several = len(alignment.pairs) > 1
    pairs = [
        _pair(alignment, i) if several else _sides(pair) for i, pair in enumerate(alignment.pairs)
    ]
    body = "".join(pairs)
    signature = f"<p><small>{_safe(alignment.signature)}</small></p>"
    head = SHARED if shared else ""
    return f'{head}<div class="bsa"><p>{said}</p>{body}{signature}</div>\n'


def as_page(alignment: Alignment) -> str:
    """A whole page, for a file."""
    head = '<!doctype html><html><head><meta charset="utf-8"><title>BERTScore</title>'
    style = "<style>:root{color-scheme:light dark}body{font-family:system-ui,sans-serif}</style>"
    return f"{head}{style}</head><body>\n{alignment.to_html()}</body></html>\n"


def _pair(alignment: Alignment, number: int) -> str:
    """One of several references; those that gave no score are folded."""
    pair = alignment.pairs[number]
    names = [name for name, places in alignment.taken.items() if number in places]
    said = f"gives {', '.join(names)}" if names else "gives no score"
    state = " open" if names else ""
    title = f"<summary>Reference {number + 1}: {said}</summary>"
    return f"<details{state}>{title}{_sides(pair)}</details>"


def _sides(pair: AlignedPair) -> str:
    floor = floor_of(pair)
    parts = []
    sides = ("Prediction", "precision", pair.pred), ("Reference", "recall", pair.target)
    for name, score, side in sides:
        value: float | None = getattr(pair, score)
        said = "nothing to score" if value is None else f"{score} {value:.4f}"
        cut = f", tokens cut off: {side.lost}" if side.lost else ""
        other = pair.target if side is pair.pred else pair.pred
        shown = "".join(_segment(part, side, other, score, floor) for part in segments_of(side))
        parts.append(f"<p><small>{name} ({said}{cut})</small></p>")
        parts.append(f'<p class="text" dir="auto">{shown}</p>')
    scale = f"cosines from {floor:.2f} (orange) to 1 (blue); point at a token to see its match"
    return f'<div class="pair">{"".join(parts)}<output aria-live="polite">{scale}</output></div>'


def _segment(
    segment: Segment, side: AlignedText, other: AlignedText, score: str, floor: float
) -> str:
    text = _safe(segment.text)
    if not segment.tokens:
        return f'<span class="cut">{text}</span>' if segment.cut else text
    tokens = [side.tokens[i] for i in segment.tokens]
    level = level_of(side, segment.tokens, floor)
    matches = dict.fromkeys(str(t.match) for t in tokens if t.match is not None)
    title = "\n".join(_title(token, other, score) for token in tokens)
    found = {
        "class": "" if level is None else f"s{level}",
        "data-i": " ".join(map(str, segment.tokens)),
        "data-m": " ".join(matches),
        "title": title,
    }
    marks = "".join(f' {name}="{_safe(value)}"' for name, value in found.items() if value)
    tag = "bdi" if segment.added else "span"  # not of the text: it has no say in its direction
    return f'<{tag} tabindex="0"{marks}>{text or "␣"}</{tag}>'


def _title(token: AlignedToken, other: AlignedText, score: str) -> str:
    text = isolated(token.text) or "␣"
    if token.match is None or token.similarity is None:
        return f"{text}: {'special, has no weight' if token.special else 'not scored'}"
    match = isolated(other.tokens[token.match].text) or "␣"
    values = f"cosine {token.similarity:.4f}, weight {token.weight:.4g}"
    return f"{text} → {match}: {values}, adds {token.contribution:.4f} to {score}"


def _safe(text: str) -> str:
    """Escaped, for text and attributes; halves of characters, which no file can hold, replaced."""
    return escape("".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text))
