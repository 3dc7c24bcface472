"""From a text to token ids: markers, limits, windows, and the leading space of byte-level tokenizers."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from .encoder import Tokens, Window

_NO_LIMIT = 1_000_000  # tokenizers without a limit declare numbers near 1e30
_AT_ONCE = 1_000  # texts; tokenizers return much beside the ids: offsets, pieces, masks
_PROBE = "The quick brown fox, 12 jumps: naïve Übung 東京 привет 🙂"


class Tokenizer:
    """A transformers tokenizer, slow or fast, with the rules of BERTScore.

    Texts are stripped, as the paper's package does. Tokens with the id of cls, sep, bos, eos or pad are markers wherever they
    stand. The padding side of the tokenizer plays no part: nothing is padded here.

    Attributes:
        limit: tokens that a text may have, markers included; None: any number.
        identity: class and hash of how it splits, for the signature.
    """

    def __init__(self, tokenizer: Any, position_limit: int | None, max_length: int | None, overflow: str) -> None:
        """Wrap a tokenizer.

        Args:
            tokenizer: the tokenizer.
            position_limit: tokens that the encoder has positions for; None: any number.
            max_length: the user's limit, or None.
            overflow: "truncate", "window" or "error".

        Raises:
            TypeError: if ``max_length`` is no integer.
            ValueError: if it leaves no room for a word.
        """
        self._tokenizer, self._overflow = tokenizer, overflow
        # Asked for when the tokenizer was loaded; where that had no effect, the space is put before the text.
        self._space = " " if self.lacks_prefix_space(tokenizer) else ""
        names = ("cls_token_id", "sep_token_id", "bos_token_id", "eos_token_id", "pad_token_id")
        markers = (getattr(tokenizer, name, None) for name in names)
        self._markers = frozenset(marker for marker in markers if marker is not None)
        self._unknown = getattr(tokenizer, "unk_token_id", None)
        plain, marked = self._ids(["a"], False)[0], self._ids(["a"], True)[0]
        start = next((i for i in range(len(marked)) if marked[i : i + len(plain)] == plain), 0)
        self._before, self._after = marked[:start], marked[start + len(plain) :]
        self.limit = self._limit(position_limit, max_length)
        self.identity = self._identity()

    @staticmethod
    def lacks_prefix_space(tokenizer: Any) -> bool:
        """Whether this is a byte-level tokenizer that gives the first word another token than the same word later on."""
        first, later = _pieces(tokenizer, "a"), _pieces(tokenizer, " a")
        return later[:1] != first[:1] and later[0].startswith("Ġ")

    def __call__(self, texts: Sequence[str]) -> list[Tokens]:
        """Split texts.

        Raises:
            ValueError: if a text is too long and ``overflow`` is "error"; it names the limit.
        """
        parts = (texts[i : i + _AT_ONCE] for i in range(0, len(texts), _AT_ONCE))
        return [tokens for part in parts for tokens in self._some(part)]

    def _some(self, texts: Sequence[str]) -> list[Tokens]:
        clean = [_encodable(text.strip()) for text in texts]
        return [self._tokens(ids) for ids in self._ids([self._space + text if text else "" for text in clean], False)]

    def _tokens(self, body: list[int]) -> Tokens:
        room = len(body) if self.limit is None else self.limit - len(self._before) - len(self._after)
        lost = 0
        windows: tuple[Window, ...] = ()
        literal = not self._markers.isdisjoint(body)
        if len(body) > room:
            if self._overflow == "error":
                total = len(body) + len(self._before) + len(self._after)
                raise ValueError(
                    f"got a text of {total} tokens; the limit is {self.limit}: shorten it, or set overflow='window' "
                    "(nothing is lost) or 'truncate'"
                )
            if self._overflow == "window":
                windows = self._windows(body, room)
            else:
                lost = len(body) - room
                left = getattr(self._tokenizer, "truncation_side", "right") == "left"
                body = body[-room:] if left else body[:room]
        ids = [*self._before, *body, *self._after]
        # What a tokenizer adds to nothing, such as mBART's language code, is no word.
        words = [bool(body) and i not in self._markers for i in ids]
        unknown = body.count(self._unknown) if self._unknown is not None and self._unknown not in self._markers else 0
        return Tokens(ids, words, windows, lost, unknown, literal)

    def _windows(self, body: list[int], room: int) -> tuple[Window, ...]:
        """Overlapping passes: each token is kept from the pass in which it has most context on its poorer side."""
        step = max(1, room // 2)
        starts = [*range(0, len(body) - room, step), len(body) - room]
        # Between two passes the border lies in the middle of what they share.
        borders = [0, *((a + room + b) // 2 for a, b in pairwise(starts)), len(body)]
        before, after = len(self._before), len(self._after)
        windows = []
        for start, first, last in zip(starts, borders, borders[1:]):
            ids = [*self._before, *body[start : start + room], *self._after]
            left = 0 if first == 0 else before + first - start
            right = len(ids) if last == len(body) else before + last - start
            windows.append(Window(ids, left, right))
        assert sum(w.stop - w.start for w in windows) == before + len(body) + after
        return tuple(windows)

    def _ids(self, texts: list[str], markers: bool) -> list[list[int]]:
        if not texts:
            return []
        encoded = self._tokenizer(
            texts,
            add_special_tokens=markers,
            truncation=False,
            padding=False,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        )
        return [list(ids) for ids in encoded["input_ids"]]

    def _limit(self, positions: int | None, max_length: int | None) -> int | None:
        markers = len(self._before) + len(self._after)
        if max_length is not None:
            max_length = _whole(max_length)
            if max_length <= markers:
                raise ValueError(
                    f"got max_length={max_length}; wanted at least {markers + 1}, because the tokenizer adds {markers} markers"
                )
        declared = getattr(self._tokenizer, "model_max_length", None)
        declared = int(declared) if isinstance(declared, (int, float)) and 0 < declared < _NO_LIMIT else None
        for limit, source in ((declared, "the tokenizer declares model_max_length"), (positions, "the encoder's positions")):
            if limit is not None and limit <= markers:
                raise ValueError(f"{source}={limit}, which leaves no room beside the {markers} markers; wanted more")
        given = [limit for limit in (positions, max_length, declared) if limit is not None]
        return min(given) if given else None

    def _identity(self) -> str:
        vocabulary = sorted(self._tokenizer.get_vocab().items(), key=lambda entry: entry[1])
        facts = [self._ids([_PROBE], True), self._space, sorted(self._markers), vocabulary]
        byte_level = any(piece.startswith("Ġ") for piece in _pieces(self._tokenizer, " a")[:1])
        kind = type(self._tokenizer).__name__.removesuffix("Fast") + ("+prefix_space" if byte_level else "")
        kind += "+left" if getattr(self._tokenizer, "truncation_side", "right") == "left" else ""
        return f"{kind}@{hashlib.sha256(repr(facts).encode()).hexdigest()[:8]}"


def _whole(max_length: Any) -> int:
    try:
        if not isinstance(max_length, bool):
            return operator.index(max_length)
    except TypeError:  # arrays of several numbers offer __index__, too
        pass
    raise TypeError(f"got max_length={max_length!r}; wanted a number of tokens or None")


def _encodable(text: str) -> str:
    """Replace lone surrogates, which no encoding can carry, by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _pieces(tokenizer: Any, text: str) -> list[str]:
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    return [str(piece) for piece in tokenizer.convert_ids_to_tokens(ids)]


# These count positions from the padding id on, so their tables offer padding id + 1 places fewer.
_OFFSET_POSITIONS = {
    "roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "longformer", "mpnet", "data2vec-text",
    "ibert", "xmod", "luke", "esm", "roberta-prelayernorm",
}  # fmt: skip


def position_limit(config: Any) -> int | None:
    """Tokens that an encoder with this configuration has positions for; None: any number."""
    positions = getattr(config, "max_position_embeddings", None)
    if not isinstance(positions, int) or positions < 1:
        return None
    if getattr(config, "model_type", "") in _OFFSET_POSITIONS:
        padding = getattr(config, "pad_token_id", None)
        return positions - ((padding if isinstance(padding, int) else 1) + 1)
    return positions
