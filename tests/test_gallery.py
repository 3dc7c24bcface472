"""The notebook runs from its first cell to its last, and each result shows itself."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from bertscore_tm import Alignment

NOTEBOOK = Path(__file__).parent.parent / "examples" / "gallery.ipynb"


def cells() -> list[str]:
    found = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == "code"]


def shown(source: str, space: dict[str, Any]) -> Any:
    """What a notebook shows of a cell: the value of its last expression."""
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), space)
    return last and eval(compile(ast.Expression(last.value), "cell", "eval"), space)


@pytest.mark.filterwarnings("ignore")
def test_every_cell_runs_and_shows_something(minilm: str) -> None:
    space: dict[str, Any] = {}
    values = [shown(source, space) for source in cells()]
    assert values[0] is None  # imports
    assert [type(value) for value in values[1:3]] == [Alignment, Alignment]
    for value in values[1:3]:
        html = value._repr_html_()
        assert value.pred.tokens[1].text in html
        assert "http" not in html  # nothing is fetched
    assert all(isinstance(value, Figure) for value in values[3:])
    assert len(values) == 7


def test_it_is_kept_without_outputs() -> None:
    found = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert found["nbformat"] == 4
    assert not any(cell.get("outputs") for cell in found["cells"])
