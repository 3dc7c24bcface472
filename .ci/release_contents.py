"""Says what a wheel or an sdist lacks: ``release_contents.py dist/*.whl dist/*.tar.gz``."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
TESTED = ("tests/", "examples/", "configs/", "docs/", "benchmarks/", "fuzz/", "src/")


def tracked(*folders: str) -> set[str]:
    """The files that git knows."""
    done = subprocess.run(
        ["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines())


def lacks(path: Path) -> set[str]:
    """What should be in a file and is not."""
    if path.suffix == ".whl":
        inside = set(zipfile.ZipFile(path).namelist())
        return {name.removeprefix("src/") for name in tracked("src")} - inside
    with tarfile.open(path) as archive:
        inside = {re.sub(r"^[^/]+/", "", name) for name in archive.getnames()}
    return tracked(*TESTED, "CITATION.cff", "CHANGELOG.md", "LICENSE", "NOTICE") - inside


def main(paths: list[str]) -> int:
    """0 if nothing is lacking."""
    status = 0
    for path in map(Path, paths):
        missing = sorted(lacks(path))
        print(f"{path.name}: {f'lacks {missing}' if missing else 'complete'}")
        status |= bool(missing)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
