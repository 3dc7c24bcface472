"""Pairs of texts to measure on: of two files, or the docstrings of every Python."""

from __future__ import annotations

import ast
import os
import random
from pathlib import Path

Pairs = tuple[list[str], list[str]]


def from_files(candidates: Path, references: Path) -> Pairs:
    """One text a line, the same number of lines."""
    preds, refs = (
        path.read_text(encoding="utf-8").splitlines() for path in (candidates, references)
    )
    if len(preds) != len(refs):
        raise SystemExit(
            f"got {len(preds)} candidates and {len(refs)} references; wanted the same "
            "number of lines"
        )
    return preds, refs


def from_docstrings(pairs: int) -> Pairs:
    """Sentences of the standard library's docstrings as references.

    With a tenth of their words gone or moved they are the candidates.
    """
    sentences: dict[str, None] = {}
    for file in sorted(Path(os.__file__).parent.rglob("*.py")):
        if "site-packages" in file.parts or "test" in file.parts or "tests" in file.parts:
            continue
        try:
            tree = ast.parse(file.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                for paragraph in (ast.get_docstring(node) or "").split("\n\n"):
                    words = paragraph.split()
                    if 6 <= len(words) <= 60:
                        sentences[" ".join(words)] = None
    chosen = list(sentences)
    random.Random(0).shuffle(chosen)
    while len(chosen) < pairs:  # more than there are: the same in other words
        chosen += [changed(text, len(chosen)) for text in chosen[: pairs - len(chosen)]]
    refs = chosen[:pairs]
    return [changed(text, seed) for seed, text in enumerate(refs)], refs


def changed(text: str, seed: int) -> str:
    """The same text with a tenth of its words dropped and a tenth moved."""
    dice, words = random.Random(seed), text.split()
    for _ in range(max(1, len(words) // 10)):
        word = words.pop(dice.randrange(len(words)))
        if dice.random() < 0.5 or not words:
            words.insert(dice.randrange(len(words) + 1), word + "s")
    return " ".join(words)
