"""What the pages of the example tell a reader to type is a configuration that passes its checks."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from composing import EXAMPLE, composed
from summarizer.settings import check_evaluation, check_training

PAGES = sorted(EXAMPLE.glob("*.md"))


def commands() -> Iterator[tuple[str, str]]:
    """Script and overrides of each command, in blocks and in the table."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for script, rest in re.findall(r"lightning_summarizer/(train|evaluate)\.py(.*)", text):
            yield script, re.split("[`#]", rest.replace("-m ", "").replace(" ...`", "`"))[0]
        for line in re.findall(r"^\|(?!.*\.(?:py|tsv|txt|jsonl)`).*\|(.*)\|$", text, re.M):
            yield from (("train", found) for found in re.findall("`([^`]*=[^`]*)`", line))


COMMANDS = sorted({(script, " ".join(shlex.split(rest))) for script, rest in commands()})


def test_the_pages_have_commands() -> None:
    assert len(COMMANDS) > 25
    assert any("hub_xsum" in rest for _, rest in COMMANDS)
    assert any("debug=profiler" in rest for _, rest in COMMANDS)


@pytest.mark.parametrize("script, rest", COMMANDS, ids=[f"{s} {r}" for s, r in COMMANDS])
def test_commands_of_the_pages(script: str, rest: str, tmp_path: Path) -> None:
    if "optuna" in rest and not find_spec("hydra_plugins"):
        pytest.skip("hydra-optuna-sweeper is not installed")
    file = tmp_path / "file"
    file.touch()
    overrides = []
    for word in shlex.split(rest):
        key, _, value = word.partition("=")
        if key.startswith("hydra."):
            continue
        if "[" not in value:  # of a sweep the first one
            value = value.split(",")[0]
        given = value in ("FILE", "FOLDER") or "..." in value
        overrides.append(f"{key}={file if given else value}")
    cfg = composed(*overrides, config=script)
    (check_training if script == "train" else check_evaluation)(cfg)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_excerpt_of_the_module_stands_in_it() -> None:
    """All other Python of the page is run: test_example_loaders.py."""
    page = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    written = re.findall(r"```python\n(.*?)```", page, re.S)
    (excerpt,) = (block for block in written if "bertscores" not in block)
    module = (EXAMPLE / "summarizer" / "module.py").read_text(encoding="utf-8")
    lines = {line.strip() for line in module.splitlines()}
    assert [line for line in excerpt.splitlines() if line not in lines] == []
