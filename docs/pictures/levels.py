"""The layering of the package, read from its imports: ``python docs/pictures/levels.py``.

Prints a line for each level: a module stands one level above the highest that it imports, lazily
or not. A circle would be an error.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "bertscore_tm"
MODULES = sorted(path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("__"))


@cache
def imported(module: str) -> frozenset[str]:
    """The modules of the package that one imports, but for type checkers."""
    tree = ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))
    hidden: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            hidden |= {id(inner) for inner in ast.walk(node)}
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level and id(node) not in hidden:
            names |= {node.module} if node.module else {alias.name for alias in node.names}
    return frozenset(name.split(".")[0] for name in names) & frozenset(MODULES)


@cache
def level(module: str) -> int:
    """How many modules stand one on the other below it."""
    return 1 + max((level(name) for name in imported(module)), default=-1)


def picture() -> str:
    """The levels, the highest first."""
    levels: dict[int, list[str]] = {}
    for module in MODULES:
        levels.setdefault(level(module), []).append(module)
    lines = []
    for number in sorted(levels, reverse=True):
        line = f"{number:3d}  "
        for name in levels[number]:
            if len(line) + len(name) > 110:
                lines.append(line.rstrip())
                line = " " * 5
            line += f"{name}  "
        lines.append(line.rstrip())
    return "\n".join(lines)


if __name__ == "__main__":
    print(picture())
