"""Docstrings of installed packages: real texts that are on every machine."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import os
import random
import warnings
import zlib
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

from ..errors import nearest
from .text import TextData

# Share of the modules, in percent, that goes to each split.
_SHARES = {"val": 8, "test": 8, "train": 84}


class Docstrings(TextData):
    """The body of a docstring is the document, its first line the summary.

    Modules are divided between the splits, so that none shows up in two of them. The rows are read
    from the source files once and kept in ``folder``.

    Args:
        packages: installed packages to read.
        folder: where the rows are kept.
        seed: of the order of the rows.
        options: those of `TextData`.
    """

    def __init__(
        self, collate: Any, packages: Sequence[str], folder: str, seed: int = 0, **options: Any
    ) -> None:
        super().__init__(collate, **options)
        self.packages, self.folder, self.seed = list(packages), Path(folder), seed

    def prepare_data(self) -> None:
        """Read the packages, on one process."""
        for package in self.packages:
            path = self._path(package)
            if not path.exists():
                print(f"Reading the docstrings of {package} (once) ...", flush=True)
                lines = [json.dumps(row) for row in read_package(package)]
                path.parent.mkdir(parents=True, exist_ok=True)
                unfinished = path.with_suffix(f".{os.getpid()}")
                unfinished.write_text("\n".join(lines) + "\n", encoding="utf-8")
                unfinished.replace(path)

    def load(self, split: str) -> Iterable[tuple[str, list[str]]]:
        """Rows of the modules that belong to a split; a text that comes again is left out."""
        pairs: dict[str, tuple[str, str]] = {}
        for package in self.packages:
            for line in self._path(package).read_text(encoding="utf-8").splitlines():
                module, document, summary = json.loads(line)
                pairs.setdefault(document, (split_of(module), summary))
        found = [
            (document, [summary]) for document, (where, summary) in pairs.items() if where == split
        ]
        random.Random(self.seed).shuffle(found)
        return found

    def _path(self, package: str) -> Path:
        _root(package)
        version = getattr(importlib.import_module(package), "__version__", "0")
        return self.folder / f"docstrings-{package}-{version}.jsonl"


def split_of(module: str) -> str:
    """The split of a module, by a hash of its name."""
    place = zlib.crc32(module.encode()) % 100
    for split, share in _SHARES.items():
        place -= share
        if place < 0:
            return split
    raise AssertionError("the shares do not add up to 100")


def read_package(package: str) -> Iterator[tuple[str, str, str]]:
    """Module, document and summary of each function and class whose docstring has both.

    Raises:
        ModuleNotFoundError: if the package is not installed.
    """
    root = _root(package)
    for path in sorted(root.rglob("*.py")):
        source = path.read_text(encoding="utf-8", errors="ignore")
        if '"""' not in source:
            continue
        module = ".".join(path.relative_to(root.parent).with_suffix("").parts)
        for docstring in _docstrings(source):
            document, summary = _divide(docstring)
            if len(summary.split()) >= 3 and len(document.split()) >= 10:
                yield module, document, summary


def _root(package: str) -> Path:
    """The folder of an installed package."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):  # of a package within one that is not there, or of "."
        spec = None
    if spec is None or spec.origin is None:
        hint = nearest(package, packages_distributions())
        raise ModuleNotFoundError(
            f"the package {package!r} is not installed; choose others: data.packages=[torch]{hint}"
        )
    return Path(spec.origin).parent


def _docstrings(source: str) -> Iterator[str]:
    try:
        with warnings.catch_warnings():  # about the code that is read, such as its escapes
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except SyntaxError:  # templates and files for other versions of Python
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield ast.get_docstring(node) or ""


def _divide(docstring: str) -> tuple[str, str]:
    """Document and summary; empty if the first line is not set off by an empty one."""
    first, _, rest = docstring.strip().partition("\n")
    second, _, body = rest.partition("\n")
    return ("", "") if second.strip() else (" ".join(body.split()), " ".join(first.split()))
