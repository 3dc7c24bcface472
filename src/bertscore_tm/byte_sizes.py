"""Numbers of bytes as people write them."""

from __future__ import annotations

import re
from fractions import Fraction
from numbers import Integral
from typing import Any

from .errors import InvalidTypeError, InvalidValueError

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9}
_UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30}


def parse_bytes(size: Any, said: str | None = None) -> int:
    """A number of bytes: an integer, or a text such as "512MB" or "2 GiB".

    Args:
        size: the number.
        said: how the message writes it.

    Raises:
        InvalidTypeError: if it is neither.
        InvalidValueError: if it is negative or cannot be read.
    """
    got = f"got {said or repr(size)}; wanted a number of bytes or a text such as '512MB' (0: none)"
    if isinstance(size, bool) or not isinstance(size, (Integral, str)):
        raise InvalidTypeError(got)
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)\s*", str(size).lower())
    if not found or found[2] not in _UNITS:
        raise InvalidValueError(got)
    return int(Fraction(found[1]) * _UNITS[found[2]])
