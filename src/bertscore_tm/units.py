"""Units of measure: which one stands behind a number."""

from __future__ import annotations

import re

# Units of one size in other numbers: an inch is 2.54 centimetres.
_UNIT = re.compile(
    r"[\s-]?(?:(?P<inch>inch(?:es)?)|(?P<foot>f(?:oo|ee)?t)|(?P<yard>yards?)|(?P<mile>miles?)|"
    r"(?P<cm>cm|centimet(?:er|re)s?)|(?P<m>m|met(?:er|re)s?)|(?P<km>km|kilomet(?:er|re)s?)|"
    r"(?P<mm>mm|millimet(?:er|re)s?)|(?P<kg>kg|kilo(?:gram)?s?)|(?P<pound>lbs?|pounds)|"
    r"(?P<g>g|grams?)|(?P<ounce>oz|ounces?)|(?P<ton>tons?)|(?P<tonne>tonnes?)|"
    r"(?P<mph>mph)|(?P<kmh>km/h|kph)|"
    r"(?P<f>°\s?f|degrees fahrenheit)|(?P<c>°\s?c|degrees celsius)|"
    r"(?P<fold>fold)|(?P<hour>hours?)|(?P<minute>minutes?|mins?)|(?P<day>days?)|(?P<week>weeks?)|"
    r"(?P<month>months?)|(?P<year>years?)|(?P<second>seconds?))\b",
    re.IGNORECASE,
)


def unit_at(text: str, place: int) -> str:
    """The unit that stands at a place of a text, by one name for all its spellings, or nothing."""
    unit = _UNIT.match(text, place)
    return next((name for name, part in (unit.groupdict() if unit else {}).items() if part), "")
