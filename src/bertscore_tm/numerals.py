"""The numbers that a text states, in digits of every script and in English words.

``12,000``, ``12 000``, ``12.000``, ``१२०००``, ``12 thousand`` and ``twelve thousand`` are one
number. Where the writing leaves open what is meant (``12.345``), a number has both readings.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from typing import NamedTuple

from .number_words import Word, is_vague, word_numbers
from .units import unit_at

_SPACES = " \u00a0\u2009\u202f"
# Digits of any script, cut by signs of grouping or of decimals; spaces only before three digits.
_RUN = re.compile(
    rf"(?<!\d)\d{{1,3}}(?:[{_SPACES}]\d{{3}})+(?:[.,٫]\d+)?(?!\d)|\d+(?:[.,'’٬٫]\d+)*"
)
_SCALES = {
    **{"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9},
    **{"trillion": 10**12, "milliard": 10**9, "dozen": 12, "lakh": 10**5, "crore": 10**7},
    **{"mln": 10**6, "mio": 10**6, "mrd": 10**9, "mlrd": 10**9, "bln": 10**9, "trn": 10**12},
    **{"b": 10**9, "k": 10**3, "mn": 10**6, "bn": 10**9, "tn": 10**12, "m": 10**6},
    **{"百": 100, "千": 10**3, "万": 10**4, "萬": 10**4, "만": 10**4},
    **{"億": 10**8, "亿": 10**8, "억": 10**8, "兆": 10**12, "조": 10**12},
}
# Scales of other languages, with the ends of their forms: what follows digits.
_FOREIGN = {
    r"millon(?:es)?|millón|milh(?:ão|ões)|milion\w*|millionen?|миллион\w*|млн|мільйон\w*|"
    r"मिलियन|مليون|ملايين|میلیون|milyon|juta|triệu|ล้าน": 10**6,
    r"milliard\w*|miliard\w*|миллиард\w*|млрд|мільярд\w*|مليار|میلیارد|milyar|tỷ": 10**9,
    r"tausend|mille|mila|mil|tysi\w+|тысяч\w*|тыс|тисяч\w*|हज़ार|हजार|ألف|آلاف|هزار|"
    r"bin|ribu|nghìn|พัน": 10**3,
    r"लाख|لاکھ": 10**5,
    r"करोड़|کروڑ": 10**7,
}
_AFTER = re.compile(
    r"(?P<percent>\s?[%٪％﹪]|[\s-]?per\s?cent\b|\s?pct\b)"
    r"|(?P<clock>\s?[:：]\s?(?P<minutes>[0-5]\d)(?!\d)(?:[:：][0-5]\d(?!\d))?)?"
    r"\s?(?P<half>[ap])\.?m\b"
    r"|(?P<time>\s?[:：]\s?(?P<past>[0-5]\d)(?!\d))"
    r"|(?P<ordinal>(?:st|nd|rd|th)\b|[ºª°](?=\s?[A-Za-z]))"
    r"|(?P<decade>['’]?s\b)"
    r"|[\s-]?(?P<scale>hundred|thousand|milliard|[mb]illion|trillion|dozen|lakh|crore)s?\b"
    r"|(?P<short>k|mn?|bn?|tn)\b|\s?(?P<mark>mln|mio|mrd|ml?rd|bln|trn)\b\.?"
    r"|[\s-]?(?P<foreign>" + "|".join(_FOREIGN) + r")\b"
    r"|(?P<cjk>[百千万萬億亿兆만억조])",
    re.IGNORECASE,
)
_YEAR_BEFORE = re.compile(
    r"(?:\b(?:in|since|until|till|by|of|from|to|year|before|after|during|early|late|mid|and|"
    r"january|february|march|april|may|june|july|august|september|october|november|december|"
    r"spring|summer|autumn|fall|winter)\s|[(/-]|\d,\s)$",
    re.IGNORECASE,
)
_ROUGH_BEFORE = re.compile(
    r"\b(?:about|around|approximately|roughly|nearly|almost|over|under|some|circa|ca\.|approx\.|"
    r"(?:more|less|fewer|greater) than|up to|at least|close to)\s(?:the\s)?[$€£¥]?$",
    re.IGNORECASE,
)
# "1. Aspirin 2. Rest": numbers of items.
_ITEM, _ITEM_END = re.compile(r"(?:^|[.:;,)]\s+)$"), re.compile(r"[.)]\s+[^\W\d]")
# "EUR5", "4x200": what stands before is no part of a name.
_MONEY_OR_TIMES = re.compile(r"(?:^|[^A-Z])[A-Z]{3}$|\d[x×]$")
_FRACTION = re.compile(r"\s?([¼½¾⅓⅔⅛⅜⅝⅞])")


class Number(NamedTuple):
    """A number as a text states it.

    Attributes:
        values: what it may mean; minutes for a time of day.
        kinds: of "plain", "percent", "ordinal", "year", "decade" and "time" those that it may be.
        rough: whether the text says that it is not exact ("about", "nearly", "more than").
        start: where it begins, in characters.
        end: where it ends.
        digits: whether it stands in digits, not in words.
        unit: the unit of measure behind it, or nothing.
    """

    values: frozenset[Decimal]
    kinds: frozenset[str]
    rough: bool
    start: int
    end: int
    digits: bool = True
    unit: str = ""

    def agrees(self, other: Number) -> bool:
        """Whether both may mean the same; a tenth more or less where one is rough."""
        if ("time" in self.kinds) != ("time" in other.kinds):
            return False
        if self.values & other.values:
            return True
        pairs = [(a, b) for a in self.values for b in other.values]
        if any(_is_rounded(a, b) or _is_rounded(b, a) for a, b in pairs):
            return True
        rough = self.rough or other.rough
        return rough and any(abs(a - b) <= max(abs(a), abs(b)) / 10 for a, b in pairs)


def _is_rounded(coarse: Decimal, fine: Decimal) -> bool:
    """Whether a number is another one with fewer decimals, rounded or cut off."""
    places = coarse.as_tuple().exponent, fine.as_tuple().exponent
    if not (isinstance(places[0], int) and isinstance(places[1], int) and places[1] < places[0]):
        return False
    unit = Decimal(1).scaleb(places[0])
    return places[0] <= 0 and coarse in (
        fine.quantize(unit, rounding=ROUND_HALF_UP),
        fine.quantize(unit, rounding=ROUND_DOWN),
    )


def find_numbers(text: str, words: bool = True) -> list[Number]:
    """The numbers of a text, in the order in which they stand.

    Args:
        text: any text.
        words: whether English number words count, too.

    Returns:
        Each number once; what is part of a name or a code (``B12``, ``A-380``) is left out, and so
        is what says no number ("hundreds of", "one of them").
    """
    found = list(_in_digits(text))
    taken = [(n.start, n.end) for n in found]
    for word in word_numbers(text) if words else ():
        if not any(start < word.end and word.start < end for start, end in taken) and not (
            text[word.start - 2 : word.start - 1].isdecimal()  # a million after digits of a code
        ):
            found.append(_from_word(text, word))
    found = [n._replace(unit=unit_at(text, n.end)) for n in found]
    return sorted(found, key=lambda n: n.start)


def _from_word(text: str, word: Word) -> Number:
    end, kinds, values = word.end, {word.kind}, {word.value}
    after = _AFTER.match(text, end)
    if after and after["percent"]:
        kinds, end = {"percent"}, after.end()
        values.add(word.value / 100)
    elif after and after["half"]:
        kinds, end, values = {"time"}, after.end(), _minutes(int(word.value), 0, after["half"])
    rough = bool(_ROUGH_BEFORE.search(text, max(0, word.start - 24), word.start))
    return Number(frozenset(values), frozenset(kinds), rough, word.start, end, digits=False)


def _in_digits(text: str) -> Iterator[Number]:
    place = 0
    while match := _RUN.search(text, place):
        place = match.end()
        if _within_a_name(text, match.start()):
            continue
        if _ITEM.search(text[: match.start()][-3:]) and _ITEM_END.match(text, match.end()):
            continue
        for start, end, values in _readings(match):
            number = _with_surroundings(text, start, end, values)
            place = max(place, number.end)
            if not is_vague(text, start):
                yield number


def _within_a_name(text: str, start: int) -> bool:
    """Whether letters of a script with capitals stand right before: ``B12``, ``MH370``."""
    before = text[start - 1 : start]
    if before == "#" or _MONEY_OR_TIMES.search(text[max(0, start - 4) : start]):
        return before == "#"  # an entity of HTML
    if before in ("-", "_") and text[start - 2 : start - 1].isupper():
        return True
    return before.isalpha() and before.lower() != before.upper()


def _readings(match: re.Match[str]) -> list[tuple[int, int, set[Decimal]]]:
    """Start, end and meaning of the numbers in a run of digits and signs."""
    run, start = match.group(), match.start()
    parts = [(m.start(), m.group()) for m in re.finditer(r"\d+", run)]
    digits = [_plain(part) for _, part in parts]
    signs = [c for c in run if not c.isdecimal()]
    values = _whole(digits, signs)
    if values:
        return [(start, match.end(), values)]
    return [
        (start + at, start + at + len(part), {Decimal(digit)})
        for (at, part), digit in zip(parts, digits)
    ]


def _whole(digits: list[str], signs: list[str]) -> set[Decimal]:
    """What groups of digits mean as one number; nothing if they are several (``1.2.3``)."""
    if not signs:
        return {Decimal(digits[0])}
    grouped, last = Decimal("".join(digits)), signs[-1]
    decimal = Decimal("".join(digits[:-1]) + "." + digits[-1])
    kinds = set(signs)
    if len(kinds) == 1 and last not in "٫":
        if len(signs) > 1 or last in _SPACES + "'’٬":
            return {grouped} if _in_groups(digits) else set()
        if len(digits[1]) != 3 or len(digits[0]) > 3 or digits[0].startswith("0"):
            return {decimal}
        return {grouped} if digits[1] == "000" else {grouped, decimal}
    if signs.count(last) == 1 and last not in _SPACES and len(kinds) <= 2:
        return {decimal} if len(digits) == 2 or _in_groups(digits[:-1]) else set()
    return set()


def _in_groups(digits: list[str]) -> bool:
    """Of three; or of two before the last three, as in India."""
    sizes = [len(group) for group in digits]
    return (
        sizes[0] <= 3
        and sizes[-1] == 3
        and len({*sizes[1:-1]} | {2}) <= 2
        and ({*sizes[1:]} == {3} or {*sizes[1:-1]} == {2})
    )


def _plain(digits: str) -> str:
    return "".join(str(unicodedata.decimal(c)) for c in digits)


def _with_surroundings(text: str, start: int, end: int, values: set[Decimal]) -> Number:
    """What stands before and after a number: a sign, a unit, a scale."""
    kinds = {"plain"}
    rough = bool(_ROUGH_BEFORE.search(text, max(0, start - 24), start))
    if fraction := _FRACTION.match(text, end):
        part = Decimal(str(round(unicodedata.numeric(fraction[1]), 6)))
        values, end = {value + part for value in values}, fraction.end()
    size = end - start
    after = _AFTER.match(text, end)
    if after is None or (after["decade"] and not _is_decade(values, size)):
        (value, *others) = values
        if size == 4 and not others and 1000 <= value <= 2100 and text[start:end].isdecimal():
            named = _YEAR_BEFORE.search(text, max(0, start - 12), start)
            kinds = {"year"} if named else {"year", "plain"}
    else:
        values, kinds = _after(values, after)
        end = after.end()
        while (after["cjk"]) and (more := re.compile(r"\d+").match(text, end)):
            after = _AFTER.match(text, more.end())
            scale = _SCALES[after["cjk"]] if after and after["cjk"] else 1
            values = {value + Decimal(_plain(more.group())) * scale for value in values}
            end = after.end() if after and after["cjk"] else more.end()
            if not (after and after["cjk"]):
                break
            if percent := re.compile(r"\s?[%٪％]").match(text, end):
                kinds, end = {"percent"}, percent.end()
    sign = re.search(r"(?:^|[\s($€£])[-−–]\s?$|\b(?:minus|negative)\s$", text[:start][-10:])
    if sign and kinds & {"plain", "percent"} and not sign.group().endswith(("– ", "- ")):
        values = {-value for value in values}
    return Number(frozenset(values), frozenset(kinds), rough, start, end)


def _is_decade(values: set[Decimal], size: int) -> bool:
    return size in (2, 4) and all(value % 10 == 0 for value in values)


def _after(values: set[Decimal], after: re.Match[str]) -> tuple[set[Decimal], set[str]]:
    """The meaning and the kind that come from what follows a number."""
    if after["percent"]:
        return values | {value / 100 for value in values}, {"percent"}
    if after["half"] or after["time"]:
        hour = min(values)
        minute = int(after["minutes"] or after["past"] or hour % 1 * 100)  # 9.52 am
        return _minutes(int(hour), minute, after["half"]), {"time"}
    if after["ordinal"]:
        return values, {"ordinal"}
    if after["decade"]:
        return {value % 100 if value >= 1900 else value for value in values}, {"decade"}
    name = (after["scale"] or after["short"] or after["mark"] or after["cjk"] or "").lower()
    scale = _SCALES[name] if name else _foreign_scale(after["foreign"])
    scaled = {value * scale for value in values}
    return (scaled | values if name in ("m", "b") else scaled), {"plain"}  # 5m: metres, too


def _foreign_scale(word: str) -> int:
    return next(n for words, n in _FOREIGN.items() if re.fullmatch(words, word, re.IGNORECASE))


def _minutes(hour: int, minute: int, half: str | None) -> set[Decimal]:
    """Minutes of the day; both halves of it where the text leaves that open."""
    if half:
        hour = hour % 12 + (12 if half.lower() == "p" else 0)
        return {Decimal(60 * hour + minute)}
    hours = {hour, hour + 12} if hour < 12 else {hour, 0} if hour == 12 else {hour}
    return {Decimal(60 * each + minute) for each in hours}
