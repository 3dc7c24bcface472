"""From a file's name and bytes to its text: what kind it is, how it is packed and encoded."""

from __future__ import annotations

import codecs
import gzip
import io
import sys
import zlib
from pathlib import Path

from .checks import spelled
from .errors import InvalidValueError, TextFileError, file_errors

# What a file may be read as; the endings that say so. Any other name, and standard input: lines.
KINDS = ("lines", "tsv", "csv", "json", "jsonl")
_ENDINGS = {
    **{"tsv": "tsv", "tab": "tsv", "csv": "csv", "json": "json"},
    **dict.fromkeys(("jsonl", "ndjson", "jsonlines"), "jsonl"),
}
_EXPORT = "export its texts as .jsonl or .csv (pandas: to_json(name, orient='records', lines=True))"
# Endings of files that would make nonsense as lines, and what to do with them.
_REFUSED = {
    advice: names.split()
    for advice, names in {
        "save the sheet as .csv (UTF-8)": "xlsx xls xlsm xlsb ods numbers",
        _EXPORT: "parquet arrow feather orc avro h5 hdf5 pkl pickle npy npz pt pth safetensors mat "
        "rds db sqlite sqlite3",
        "save its texts as plain lines (.txt)": "docx doc odt rtf pdf pptx epub html htm",
        "export its texts as plain lines or .jsonl, or say {as_lines}": "xml sgm sgml tmx xliff "
        "xlf yaml yml toml",
        "unpack it; only .gz is read as it is": "zip tar tgz 7z rar bz2 xz zst lz4 lzma",
    }.items()
}
# How such files begin, whatever they are called.
_MAGIC = {
    b"\x1f\x8b": "gzip's bytes; wanted a name that ends in .gz",
    b"PK\x03\x04": "the bytes of a zip archive (.xlsx and .docx are some); wanted text",
    b"PAR1\x15": "the bytes of a Parquet file; wanted text",
    b"ARROW1\0\0": "the bytes of an Arrow file; wanted text",
    b"%PDF-": "the bytes of a PDF; wanted text",
    b"\xd0\xcf\x11\xe0": "the bytes of an old Office file; wanted text",
    b"\xfd7zXZ\0": "xz's bytes; wanted text",
    b"\x28\xb5\x2f\xfd": "zstd's bytes; wanted text",
}
# The longer mark first: that of UTF-32 begins with that of UTF-16.
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}


def kind_of(name: str, kind: str | None = None) -> str:
    """What a file is read as.

    Args:
        name: of the file; "-" is standard input.
        kind: one of `KINDS`; None: what the name says.

    Raises:
        InvalidValueError: if there is no such kind, or the name is that of a file that cannot be
            read.
    """
    if kind is not None:
        if kind not in KINDS:
            raise InvalidValueError(
                f"got {spelled('kind', kind)}; wanted one of {', '.join(KINDS)}, or None"
            )
        return kind
    ending = name.lower().removesuffix(".gz").rpartition(".")[2] if "." in name else ""
    for advice, refused in _REFUSED.items():
        if ending in refused:
            wanted = advice.format(as_lines=spelled("kind", "lines")) if "{" in advice else advice
            raise InvalidValueError(f"{name!r} cannot be read as .{ending}; wanted text: {wanted}")
    return _ENDINGS.get(ending, "lines")


def decoded(name: str) -> str:
    """The text of a file, unpacked and without a byte order mark.

    Raises:
        TextFileError: if the file cannot be read.
        InvalidValueError: if it is not what its name says, or neither UTF-8 nor marked as UTF-16
            or UTF-32.
    """
    data = _bytes(name)
    for magic, what in _MAGIC.items():
        if data.startswith(magic):
            raise InvalidValueError(f"{name!r} is not UTF-8 text (it begins with {what})")
    if _is_unmarked_utf16(data):
        raise InvalidValueError(
            f"{name!r} is not UTF-8 text (every other byte is zero, as in UTF-16); "
            "wanted UTF-8, or UTF-16 with a byte order mark"
        )
    mark = next((mark for mark in _MARKS if data.startswith(mark)), b"")
    encoding = _MARKS.get(mark, "utf-8")
    try:
        return data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        place = len(mark) + error.start
        line = data[len(mark) : place].decode(encoding, "ignore").count("\n") + 1
        raise InvalidValueError(
            f"{name!r} is not {encoding.upper()} text (byte {data[place]:#04x} at offset {place}, "
            f"line {line}: {error.reason}); wanted UTF-8, or UTF-16 with a byte order mark"
        ) from error


def split_lines(text: str) -> list[str]:
    r"""Split at line ends: ``\n`` and ``\r\n``; or ``\r``, where there is no ``\n`` at all.

    Whatever else Python or Unicode count as line ends stays in the line: a text may hold it. So
    does a lone ``\r`` in a file that has ``\n``. A line end at the end of the file begins no line.
    """
    found = text.replace("\r\n", "\n").split("\n") if "\n" in text else text.split("\r")
    if found[-1] == "":
        found.pop()
    return found


def printable(text: str) -> str:
    """A text with escapes for all that is not to be seen: it could command a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shown(text: str) -> str:
    """A text for the terminal; of what cannot be seen the joiners stay, which shape words."""
    return "".join(c if c in "\u200c\u200d" else printable(c) for c in text)


def _bytes(name: str) -> bytes:
    if name == "-" and sys.stdin is None:  # the shell's <&-
        raise TextFileError("got - where standard input is closed; wanted an open one, or a file")
    try:
        with file_errors(name):
            data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except ValueError as error:  # a NUL in it, or half a surrogate pair
        raise InvalidValueError(f"got {name!r} ({error}); wanted the name of a file") from error
    if not name.lower().endswith(".gz"):
        return data
    try:
        return gzip.GzipFile(fileobj=io.BytesIO(data)).read()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidValueError(
            f"{name!r} is no whole gzip file ({error}); wanted one, or a name without .gz"
        ) from error


def _is_unmarked_utf16(data: bytes) -> bool:
    """Whether it is UTF-16 for sure: such text in English is valid UTF-8, full of NULs."""
    if len(data) < 4 or len(data) % 2 or data.count(0) * 2 < len(data):
        return False
    return any(data[start::2].count(0) * 2 == len(data) for start in (0, 1))
