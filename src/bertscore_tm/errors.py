"""Errors and the warning of this package.

One tree under `BERTScoreError`, so that one ``except`` catches what a user can mend and lets a bug
be seen as a bug. Each is also the built-in error that fits, so that older ``except`` clauses work.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


class BERTScoreError(Exception):
    """Something that the user can mend: the message says what was got and what was wanted."""


class InvalidValueError(BERTScoreError, ValueError):
    """An argument, a setting or a file has a value that does not exist or does not fit."""


class InvalidTypeError(BERTScoreError, TypeError):
    """An argument is of the wrong type."""


class EncoderLoadError(BERTScoreError, OSError):
    """An encoder, its tokenizer or its weights cannot be loaded."""


class EncoderNotFoundError(EncoderLoadError, FileNotFoundError):
    """The folder of an encoder does not exist, or holds no weights."""


class TextFileError(BERTScoreError, OSError):
    """A file of texts or tables cannot be read or written."""


class TextFileNotFoundError(TextFileError, FileNotFoundError):
    """There is no such file."""


class NonFiniteError(BERTScoreError, FloatingPointError):
    """An encoder gave an infinite or undefined number."""


class OutOfMemoryError(BERTScoreError, MemoryError):
    """Not even a single pair of texts fits into memory."""


class MissingPackageError(BERTScoreError, ImportError):
    """Something needs a package that is not installed."""


class BERTScoreWarning(UserWarning):
    """Something in the data makes a score mean less than it seems to."""


def warn(message: str) -> None:
    """Warn, without a place in the code: it would be ours, and it is the data that is meant."""
    warnings.warn_explicit(f"BERTScore: {message}", BERTScoreWarning, "bertscore_tm", 0)


@contextmanager
def file_errors(path: object) -> Iterator[None]:
    """Raise what the system says of a file as an error of ours, with the same words."""
    try:
        yield
    except OSError as error:
        if isinstance(error, BERTScoreError):
            raise
        missing = isinstance(error, FileNotFoundError)
        kind = TextFileNotFoundError if missing else TextFileError
        where = str(path) if error.filename is None else error.filename
        raise kind(error.errno, error.strerror or str(error), where) from error
