"""The pages as a site: what `make docs` needs, and pictures that are made from the code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def pages(part: object) -> list[str]:
    if isinstance(part, str):
        return [part]
    inner = part.values() if isinstance(part, dict) else part
    return [name for one in inner for name in pages(one)]  # type: ignore[attr-defined]


def test_every_page_is_in_the_navigation() -> None:
    named = pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    assert len(named) == len(set(named))
    assert all((ROOT / name).is_file() for name in named)
    assert {f"docs/{path.name}" for path in DOCS.glob("*.md")} <= set(named)


def test_the_levels_are_those_of_the_code() -> None:
    text = (DOCS / "maintainers.md").read_text(encoding="utf-8")
    (drawn,) = re.findall(r"<!-- levels -->\n\n```text\n(.*?)\n```", text, re.S)
    run = [sys.executable, str(DOCS / "pictures" / "levels.py")]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert drawn == done.stdout.rstrip("\n"), "run docs/pictures/levels.py and paste what it prints"


def test_pictures_can_be_drawn_again(minilm: str, tmp_path: Path) -> None:
    sys.path.insert(0, str(DOCS / "pictures"))
    try:
        import draw
    finally:
        sys.path.pop(0)
    draw.main(tmp_path)
    for picture in DOCS.glob("pictures/*.svg"):
        new = (tmp_path / picture.name).read_text(encoding="utf-8")
        words = [
            re.findall(r">([^<>]+)</text>", text) for text in (new, picture.read_text("utf-8"))
        ]
        assert words[0] == words[1]
        assert words[0]


def test_the_reference_names_what_is_public() -> None:
    import bertscore_tm

    named = set(
        re.findall(r"^::: bertscore_tm\.(\w+)$", (DOCS / "api.md").read_text("utf-8"), re.M)
    )
    errors = {"BERTScoreError", "BERTScoreWarning"}  # with all others, under bertscore_tm.errors
    assert {*bertscore_tm.__all__} - errors - {"__version__"} <= named
    assert named <= {*bertscore_tm.__all__, "errors", "plotting"}


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("material")
    pytest.importorskip("mkdocstrings")
    done = subprocess.run(["make", "docs"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (ROOT / "build" / "site" / "docs" / "api.html").is_file()
