"""How the package is built: what may import what, how long things are, what is documented, what an
import brings in."""

from __future__ import annotations

import ast
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import bertscore_tm
from tiny import TEXT

PACKAGE = Path(bertscore_tm.__file__).parent
MODULES = sorted(path.stem for path in PACKAGE.glob("*.py"))
FILES = sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py"))
EXAMPLES = Path(__file__).parent.parent / "examples"
MATHS = ("matching", "scoring", "idf", "baseline", "signature", "references")
# What they stand on: errors, what the machine can do, tables of names.
GROUND = ("errors", "machine", "names", "checks", "languages", "byte_sizes")
HEAVY = (
    "matplotlib",
    "pandas",
    "lightning",
    "pytorch_lightning",
    "hydra",
    "omegaconf",
    "tensorboard",
    "bert_score",
    "sacrebleu",
    "rouge_score",
    "scipy",
)


class Import(NamedTuple):
    """One imported module: `bertscore_tm.x` for our own, else the top-level name; `lazy` inside a
    function."""

    name: str
    lazy: bool


def _nodes(tree: ast.AST, lazy: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """All nodes, and whether a function holds them; what is for type checkers only is left out."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for other in node.orelse:
                yield from _nodes(ast.Module([other], []), lazy)
            continue
        yield node, lazy
        yield from _nodes(
            node, lazy or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        )


def imports(path: Path, package: str = "bertscore_tm") -> list[Import]:
    """What a file imports; relative names are those of `package`."""
    found = []
    for node, lazy in _nodes(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [Import(_short(alias.name), lazy) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level:
            assert node.level == 1 or package != "bertscore_tm", (
                f"{path.name} imports from beyond the package"
            )
            names = [node.module] if node.module else [alias.name for alias in node.names]
            found += [Import(f"{package}.{str(name).split('.')[0]}", lazy) for name in names]
        elif isinstance(node, ast.ImportFrom):
            found += [Import(_short(f"{node.module}.{alias.name}"), lazy) for alias in node.names]
    return found


def _short(name: str) -> str:
    parts = name.split(".")
    return ".".join(parts[:2]) if parts[0] == "bertscore_tm" else parts[0]


@cache
def own(module: str) -> frozenset[str]:
    """The modules of the package that a module imports, anywhere."""
    found = {
        name.partition(".")[2]
        for name, _ in imports(PACKAGE / f"{module}.py")
        if name.startswith("bertscore_tm")
    }
    return frozenset(name if name in MODULES else "__init__" for name in found)


@cache
def below(module: str) -> frozenset[str]:
    """All that a module reaches by importing, lazily or not."""
    seen: set[str] = set()
    todo = [module]
    while todo:
        for name in own(todo.pop()) - seen:
            seen.add(name)
            todo.append(name)
    return frozenset(seen)


@cache
def below_eagerly(module: str) -> frozenset[str]:
    """All that a module reaches by importing as soon as it is imported itself."""
    seen: set[str] = set()
    todo = [module]
    while todo:
        names = others(todo.pop(), lazy=False)
        for name in {n.partition(".")[2] for n in names if n.startswith("bertscore_tm.")} & {
            *MODULES
        } - seen:
            seen.add(name)
            todo.append(name)
    return frozenset(seen)


def others(module: str, lazy: bool = True) -> set[str]:
    return {name for name, is_lazy in imports(PACKAGE / f"{module}.py") if lazy or not is_lazy}


def test_the_reader_of_imports_sees_them_all(tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text(
        "import os.path, torch\nfrom typing import TYPE_CHECKING\nfrom . import names, idf\nfrom "
        ".baseline import Baseline\n"
        "from bertscore_tm.cli import main\nif TYPE_CHECKING:\n    import pandas\n"
        "def f():\n    import transformers\n    def g():\n        from .metric import BERTScore\n"
    )
    found = imports(path)
    assert {name for name, lazy in found if not lazy} == {
        "os", "torch", "typing", "bertscore_tm.names", "bertscore_tm.idf", "bertscore_tm.baseline",
        "bertscore_tm.cli",
    }  # fmt: skip
    assert {name for name, lazy in found if lazy} == {"transformers", "bertscore_tm.metric"}


# ---------------------------------------------------------------- layers


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_down_only(module: str) -> None:
    assert module not in below(module), f"{module} imports itself through {sorted(own(module))}"


@pytest.mark.parametrize("module", MATHS)
def test_maths_stand_alone(module: str) -> None:
    reached = {module, *below(module)}
    brought = {name for one in reached for name in others(one)}
    assert not brought & {"transformers", "torchmetrics", "matplotlib", "tokenizers", "lightning"}
    assert reached <= {*MATHS, *GROUND}


def test_matching_and_scoring_know_nothing_above_them() -> None:
    assert own("matching") == {"errors"}
    assert own("references") == set()
    assert own("scoring") <= {"matching", "references", "machine"}
    assert own("signature") == {"errors"}
    assert own("idf") == {"errors", "machine"}


@pytest.mark.parametrize(
    "module",
    [
        "flags",
        "results",
        "cli",
        "explain_command",
        "compare_command",
        "correlate_command",
        "lexical",
        "baseline_command",
        "tune_command",
        "idf_command",
        "tuned",
        "alignment",
        "text_view",
        "html_view",
        "settings",
        "checks",
        "references",
        "errors",
    ],
)
def test_help_needs_no_torch(module: str) -> None:
    """What the command line imports before there is something to score."""
    reached = {module, *below_eagerly(module)}
    assert not {name for one in reached for name in others(one, lazy=False)} & {
        "torch",
        "torchmetrics",
        "numpy",
    }


@pytest.mark.parametrize("module", MODULES)
def test_no_room_imports_a_third_of_the_house(module: str) -> None:
    if module != "__init__":  # the face of the package, which only hands names on
        assert len(own(module) - {"errors"}) < len(MODULES) / 3, sorted(own(module))


@pytest.mark.parametrize("module", MODULES)
def test_one_module_imports_transformers(module: str) -> None:
    assert ("transformers" in others(module)) == (module == "loading")


@pytest.mark.parametrize(
    "module", [name for name in MODULES if name not in ("huggingface", "pretrained", "loading")]
)
def test_transformers_is_reached_lazily_only(module: str) -> None:
    assert not below_eagerly(module) & {"huggingface", "pretrained", "loading"}


@pytest.mark.parametrize("module", MODULES)
def test_only_the_surface_imports_the_metric(module: str) -> None:
    # Everything else works on values, never on a live metric.
    assert "metric" not in own(module) or module in ("__init__", "collection", "cli"), module


@pytest.mark.parametrize("module", ["functional", "explaining", "tuning", "baseline_fitting"])
def test_the_functions_do_not_need_the_metric(module: str) -> None:
    assert "metric" not in below(module)


def test_an_alignment_is_plain_data() -> None:
    """Whoever shows one needs neither an encoder nor PyTorch."""
    for module in ("alignment", "text_view", "html_view", "plotting", "segments", "levels"):
        brought = {name for one in {module, *below(module)} for name in others(one)}
        assert not brought & {"torch", "transformers", "torchmetrics"}
    assert others("plotting", lazy=False) & {*HEAVY} == set()


@pytest.mark.parametrize("module", MODULES)
def test_nobody_imports_the_command_line(module: str) -> None:
    assert "cli" not in own(module) or module == "__main__"


@pytest.mark.parametrize("module", MODULES)
def test_nobody_imports_the_callbacks_of_lightning(module: str) -> None:
    assert "bertscore_tm.lightning" not in others(module)


@pytest.mark.parametrize("module", MODULES)
def test_pictures_are_imported_lazily(module: str) -> None:
    assert not others(module, lazy=False) & set(HEAVY)


@pytest.mark.parametrize("module", MODULES)
def test_the_package_does_not_know_the_examples(module: str) -> None:
    names = {path.stem for path in EXAMPLES.glob("*")} | {
        path.stem for path in EXAMPLES.glob("*/*")
    }
    assert "summarizer" in names
    assert not others(module) & (names | {"examples", "tests", "benchmarks"})


def test_the_examples_use_the_package() -> None:
    assert "bertscore_tm" in {
        name.partition(".")[0]
        for path in EXAMPLES.rglob("*.py")
        for name, _ in imports(path, "example")
    }


# ---------------------------------------------------------------- size and documentation


@pytest.mark.parametrize("file", FILES)
def test_modules_stay_below_300_lines(file: str) -> None:
    assert len((PACKAGE / file).read_text(encoding="utf-8").splitlines()) <= 300


@pytest.mark.parametrize("file", FILES)
def test_functions_stay_below_50_lines(file: str) -> None:
    """Docstrings apart."""
    lengths = {}
    for node, _ in _nodes(ast.parse((PACKAGE / file).read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0]
            docstring = (
                first.end_lineno - first.lineno + 1
                if ast.get_docstring(node) and first.end_lineno
                else 0
            )
            lengths[node.name] = (node.end_lineno or node.lineno) - node.lineno + 1 - docstring
    assert {name: length for name, length in lengths.items() if length > 50} == {}


@pytest.mark.parametrize("file", [name for name in FILES if name != "_version.py"])
def test_modules_say_what_they_are_for(file: str) -> None:
    assert ast.get_docstring(ast.parse((PACKAGE / file).read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", sorted(bertscore_tm.__all__))
def test_public_names_are_documented(name: str) -> None:
    thing: Any = getattr(bertscore_tm, name)
    if name == "__version__":
        assert thing.count(".") >= 1
        return
    own_docstring = thing.__doc__ if callable(thing) else None
    assert own_docstring
    assert len(own_docstring) > 20
    for member, value in vars(thing).items() if inspect.isclass(thing) else ():
        if (
            not member.startswith("_")
            and callable(getattr(value, "__func__", value))
            and name != "Encoder"
        ):
            assert inspect.getdoc(getattr(thing, member)), f"{name}.{member}"


def test_public_names_are_sorted_and_complete() -> None:
    assert list(bertscore_tm.__all__) == sorted(bertscore_tm.__all__)
    assert {
        "BERTScore",
        "bert_score",
        "bert_score_collection",
        "HuggingFaceEncoder",
        "IdfTable",
        "Baseline",
        "explain",
    } <= {*bertscore_tm.__all__}
    assert {*bertscore_tm.__all__} == {*bertscore_tm._HOMES, "__version__"}
    assert {*bertscore_tm.__all__} <= {*dir(bertscore_tm)}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        bertscore_tm.nothing  # noqa: B018


# ---------------------------------------------------------------- what an import brings in


def fresh(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a new interpreter; warnings as users see them."""
    path = os.pathsep.join(
        [str(PACKAGE.parent), *([os.environ["PYTHONPATH"]] if "PYTHONPATH" in os.environ else [])]
    )
    variables = {**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1", **environment}
    variables.pop("PYTHONWARNINGS", None)
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=variables,
        timeout=400,
        check=False,
    )


LOADED = "sorted({name.partition('.')[0] for name in sys.modules})"


def test_an_import_is_light_and_silent() -> None:
    done = fresh(
        f"import sys\nimport bertscore_tm\nassert not {{'torch', 'numpy', 'transformers'}} & "
        f"set({LOADED})\n"
        f"import torch, torchmetrics\nbefore = {LOADED}\n[getattr(bertscore_tm, name) for name in "
        "bertscore_tm.__all__ "
        "if name not in ('HuggingFaceEncoder',)]\n"
        f"new = set({LOADED}) - set(before)\n"
        f"assert not new & {set(HEAVY) | {'transformers', 'tokenizers', 'scipy', 'sklearn'}}, new\n"
        "import bertscore_tm.huggingface as h\nassert bertscore_tm.HuggingFaceEncoder is "
        "h.HuggingFaceEncoder"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_scoring_is_silent_and_brings_no_pictures(tiny: Any) -> None:
    done = fresh(
        f"import sys, torch, torchmetrics\nbefore = {LOADED}\nfrom bertscore_tm import BERTScore\n"
        f"metric = BERTScore({tiny('bert')!r}, 2)\nmetric.update([{TEXT[2]!r}], [{TEXT[2]!r}])\n"
        "assert abs(metric.compute().item() - 1) < 1e-6\n"
        f"new = set({LOADED}) - set(before)\nassert 'transformers' in sys.modules\nassert not new "
        f"& {set(HEAVY)}, new"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# ---------------------------------------------------------------- files in the package


def test_the_table_of_layers() -> None:
    table = json.loads((files("bertscore_tm") / "layers.json").read_text(encoding="utf-8"))
    # From the table of the paper's package.
    assert table["model2layers"]["roberta-large"] == 17
    assert table["model2layers"]["bert-base-uncased"] == 9
    assert table["lang2model"]["en"] == "roberta-large"
    assert table["lang2model"]["zh"] == "bert-base-chinese"
    assert len(table["model2layers"]) > 100


def test_the_tables_of_baselines() -> None:
    folder = files("bertscore_tm") / "baselines"
    tables = [
        path
        for language in folder.iterdir()
        if language.is_dir()
        for path in Path(str(language)).rglob("*.tsv")
    ]
    assert len(tables) > 50
    for path in tables:
        rows = bertscore_tm.Baseline.load(path).values
        assert rows.shape[1] == 3
    english = bertscore_tm.Baseline.packaged("roberta-large", "en")
    assert english is not None
    # Layer 17 of en/roberta-large.tsv in the paper's package.
    assert english.values[17].tolist() == [0.83150584, 0.8314941, 0.83122575]
    assert bertscore_tm.Baseline.packaged("../en/roberta-large", "en") is None


def test_types_are_published() -> None:
    assert (files("bertscore_tm") / "py.typed").is_file()
