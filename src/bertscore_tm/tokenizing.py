"""From a text to token ids: special tokens, limits, windows, the leading space."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from .checks import spelled
from .encoder import Tokens, Window
from .errors import InvalidValueError
from .halves import text_config
from .settings import ABOUT
from .spans import Span, settled_spans, spans_by_decoding

_NO_LIMIT = 1_000_000  # tokenizers without a limit declare numbers near 1e30
_AT_ONCE = 1_000  # texts; tokenizers return much beside the ids: offsets, pieces, masks
_PROBE = "The quick brown fox, 12 jumps: naïve Übung 東京 привет 🙂"


class Tokenizer:
    """A transformers tokenizer, slow or fast, with the rules of BERTScore.

    Texts are stripped, as the paper's package does. Tokens with the id of cls, sep, bos, eos or pad
    are special wherever they stand: they have no weight. The padding side of the tokenizer plays no
    part: nothing is padded here.

    Attributes:
        limit: tokens that a text may have, special ones included; None: any number.
        identity: class and hash of how it splits, for the signature: `Encoder.tokenizer_id`.
    """

    def __init__(
        self,
        tokenizer: Any,
        position_limit: int | None = None,
        max_length: int | None = None,
        overflow: str = "truncate",
        identity: str | None = None,
    ) -> None:
        """Wrap a tokenizer.

        Args:
            tokenizer: the tokenizer.
            position_limit: tokens that the encoder has positions for; None: any number.
            max_length: the user's limit, or None.
            overflow: "truncate", "window" or "error".
            identity: that of this tokenizer, if it is known; None: it is made from the vocabulary.

        Raises:
            InvalidTypeError: if ``max_length`` is no integer.
            InvalidValueError: if it leaves no room for a word.
        """
        self._tokenizer, self._overflow = tokenizer, overflow
        # Asked for when the tokenizer was loaded; where that had no effect, the space is put before
        # the text.
        self._space = " " if self.lacks_prefix_space(tokenizer) else ""
        names = ("cls_token_id", "sep_token_id", "bos_token_id", "eos_token_id", "pad_token_id")
        special = (getattr(tokenizer, name, None) for name in names)
        self._special = frozenset(token for token in special if token is not None)
        self._unknown = getattr(tokenizer, "unk_token_id", None)
        plain, whole = self._ids(["a"], False)[0], self._ids(["a"], True)[0]
        starts = (i for i in range(len(whole)) if whole[i : i + len(plain)] == plain)
        start = next(starts, 0)
        self._before, self._after = whole[:start], whole[start + len(plain) :]
        self.limit = self._limit(position_limit, max_length)
        self.identity = self._identity() if identity is None else identity

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """What the vocabulary calls tokens, with its own marks such as ``##`` or ``Ġ``."""
        return [str(piece) for piece in self._tokenizer.convert_ids_to_tokens(list(ids))]

    def spans(self, text: str) -> list[Span | None] | None:
        """Where each token of a text stands in it: start and end, in characters.

        None for the special tokens around it; None for all where nobody can say: a slow tokenizer
        does not know, and what its tokens decode to may be another text.
        """
        clean = _encodable(text.strip())
        if len(clean) != len(text.strip()):  # halves of a character have met
            return None
        (ids,) = self._ids([self._space + clean if clean else ""], False)
        told = getattr(self._tokenizer, "is_fast", False)
        before = len(self._space) if told else 0
        spaced = self._space + clean
        found = self._told_spans(spaced) if told else self._decoded_spans(ids, clean)
        if found is None or len(found) != len(ids):
            return None
        shift = len(text) - len(text.lstrip()) - before
        moved = [(max(0, start + shift), max(0, end + shift)) for start, end in found]
        body = settled_spans(text, moved, self.pieces(ids))
        lost = self._tokens(ids).lost
        left = getattr(self._tokenizer, "truncation_side", "right") == "left"
        kept = body[lost:] if left else body[: len(body) - lost]
        return [*(None for _ in self._before), *kept, *(None for _ in self._after)]

    def _told_spans(self, text: str) -> list[Span]:
        options = {"add_special_tokens": False, "return_offsets_mapping": True, "verbose": False}
        found = self._tokenizer(text, **options)["offset_mapping"] if text.strip() else []
        return [(int(start), int(end)) for start, end in found]

    def _decoded_spans(self, ids: list[int], text: str) -> list[Span] | None:
        pieces = self.pieces(ids)
        decode = self._tokenizer.convert_tokens_to_string
        texts = [str(decode(pieces[: i + 1])) for i in range(len(pieces))]
        return spans_by_decoding(texts) if texts and texts[-1] == text else None

    @staticmethod
    def lacks_prefix_space(tokenizer: Any) -> bool:
        """Whether a word gets another token when it comes first, as of byte-level tokenizers."""
        first, later = _pieces(tokenizer, "a"), _pieces(tokenizer, " a")
        return later[:1] != first[:1] and later[0].startswith("Ġ")

    def __call__(self, texts: Sequence[str]) -> list[Tokens]:
        """Split texts.

        Raises:
            InvalidValueError: if a text is too long and ``overflow`` is "error"; it names the
                limit.
        """
        parts = (texts[i : i + _AT_ONCE] for i in range(0, len(texts), _AT_ONCE))
        return [tokens for part in parts for tokens in self._some(part)]

    def _some(self, texts: Sequence[str]) -> list[Tokens]:
        clean = [_encodable(text.strip()) for text in texts]
        spaced = [self._space + text if text else "" for text in clean]
        return [self._tokens(ids) for ids in self._ids(spaced, False)]

    def _tokens(self, body: list[int]) -> Tokens:
        around = len(self._before) + len(self._after)
        room = len(body) if self.limit is None else self.limit - around
        lost = 0
        windows: tuple[Window, ...] = ()
        literal = not self._special.isdisjoint(body)
        if len(body) > room:
            if self._overflow == "error":
                raise InvalidValueError(
                    f"got a text of {len(body) + around} tokens; the limit is {self.limit}: "
                    f"shorten it, or set {spelled('overflow', 'window')} (nothing is lost) or "
                    "'truncate'"
                )
            if self._overflow == "window":
                windows = self._windows(body, room)
            else:
                lost = len(body) - room
                left = getattr(self._tokenizer, "truncation_side", "right") == "left"
                body = body[-room:] if left else body[:room]
        ids = [*self._before, *body, *self._after]
        # What a tokenizer adds to nothing, such as mBART's language code, has no weight.
        mask = [bool(body) and i not in self._special for i in ids]
        unknown = 0
        if self._unknown is not None and self._unknown not in self._special:
            unknown = body.count(self._unknown)
        return Tokens(ids, mask, windows, lost, unknown, literal)

    def _windows(self, body: list[int], room: int) -> tuple[Window, ...]:
        """Overlapping passes.

        Each token is kept from the pass in which it has most context on its poorer side.
        """
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

    def _ids(self, texts: list[str], special: bool) -> list[list[int]]:
        if not texts:
            return []
        encoded = self._tokenizer(
            texts,
            add_special_tokens=special,
            truncation=False,
            padding=False,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        )
        return [list(ids) for ids in encoded["input_ids"]]

    def _limit(self, positions: int | None, max_length: int | None) -> int | None:
        special = len(self._before) + len(self._after)
        if max_length is not None:
            ABOUT["max_length"].check("max_length", max_length)
            max_length = operator.index(max_length)
            if max_length <= special:
                raise InvalidValueError(
                    f"got {spelled('max_length', max_length)}; wanted at least {special + 1}, "
                    f"because the tokenizer adds {special} special tokens"
                )
        declared = getattr(self._tokenizer, "model_max_length", None)
        is_limit = isinstance(declared, (int, float)) and 0 < declared < _NO_LIMIT
        declared = int(declared or 0) if is_limit else None
        for limit, source in (
            (declared, "the tokenizer declares model_max_length"),
            (positions, "the encoder's positions"),
        ):
            if limit is not None and limit <= special:
                raise InvalidValueError(
                    f"{source}={limit}, which leaves no room beside the {special} special tokens; "
                    "wanted more"
                )
        given = [limit for limit in (positions, max_length, declared) if limit is not None]
        return min(given) if given else None

    def _identity(self) -> str:
        vocabulary = sorted(self._tokenizer.get_vocab().items(), key=lambda entry: entry[1])
        facts = [self._ids([_PROBE], True), self._space, sorted(self._special), vocabulary]
        first = _pieces(self._tokenizer, " a")[:1]
        kind = type(self._tokenizer).__name__.removesuffix("Fast")
        kind += "+prefix_space" if any(piece.startswith("Ġ") for piece in first) else ""
        left = getattr(self._tokenizer, "truncation_side", "right") == "left"
        kind += "+left" if left else ""
        return f"{kind}@{hashlib.sha256(repr(facts).encode()).hexdigest()[:8]}"


def _encodable(text: str) -> str:
    """Replace lone surrogates, which no encoding can carry, by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _pieces(tokenizer: Any, text: str) -> list[str]:
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    return [str(piece) for piece in tokenizer.convert_ids_to_tokens(ids)]


# These count positions from the padding id on: their tables offer padding id + 1 places fewer.
_OFFSET_POSITIONS = {
    "roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "longformer", "mpnet", "data2vec-text",
    "ibert", "xmod", "luke", "esm", "roberta-prelayernorm", "lilt", "layoutlmv3", "markuplm",
    "altclip_text_model",
}  # fmt: skip
# What configurations call the places of their table; that of an encoder before a decoder's.
_POSITIONS = ("max_encoder_position_embeddings", "max_source_positions", "max_position_embeddings")
# What old files of T5, which has no table, say all the same.
_OLD_POSITIONS = ("n_positions", "n_ctx")


def position_limit(config: Any) -> int | None:
    """Tokens that an encoder with this configuration has positions for; None: any number."""
    config = text_config(config)
    names: tuple[str, ...] = _POSITIONS
    if not hasattr(config, "relative_attention_num_buckets"):
        names += _OLD_POSITIONS
    said = (getattr(config, name, None) for name in names)
    positions = next((n for n in said if isinstance(n, int) and n > 0), None)
    if positions is not None and getattr(config, "model_type", "") in _OFFSET_POSITIONS:
        # MPNet counts from 1 whatever its padding id is.
        padding = None if config.model_type == "mpnet" else getattr(config, "pad_token_id", None)
        return positions - ((padding if isinstance(padding, int) else 1) + 1)
    return positions
