"""The folder of a job that goes on: what belongs to it, and the parts that are done.

A part appears under its name only when it is whole: it is written beside, forced to the disk, and
renamed. So whatever ends a job, each part is there or not there, never half.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .errors import InvalidValueError, file_errors

_MANIFEST = "job.json"
_ENDS = 1 << 20  # bytes at both ends of a file that tell it from another


class Parts:
    """The folder ``OUTPUT.parts`` beside the output of a job.

    Attributes:
        output: where the whole goes.
        folder: where its parts are.
    """

    def __init__(self, output: str) -> None:
        """Name the folder; nothing is made."""
        self.output, self.folder = Path(output), Path(f"{output}.parts")

    def open(self, about: Mapping[str, Any], resume: bool) -> bool:
        """Begin, or go on.

        Args:
            about: what the job is: settings, inputs.
            resume: whether a job that was begun may be gone on with.

        Returns:
            Whether there is anything to do.

        Raises:
            InvalidValueError: if there are parts of another job, or none are expected.
        """
        manifest = self.folder / _MANIFEST
        said = json.loads(json.dumps(about))
        if manifest.is_file():
            if not resume:
                raise InvalidValueError(
                    f"{str(self.folder)!r} has parts of a job that was not finished; wanted "
                    "--resume to go on with it, or another --output, or no such folder"
                )
            before = json.loads(manifest.read_text(encoding="utf-8"))
            for name in said.keys() | before.keys():
                if before.get(name) != said.get(name):
                    raise InvalidValueError(
                        f"got --resume for a job with another {name}: now {said.get(name)!r}, "
                        f"before {before.get(name)!r}; wanted the same, or no folder "
                        f"{str(self.folder)!r}"
                    )
            return True
        shutil.rmtree(self.folder, ignore_errors=True)  # what is left of one that was removed
        if resume and self.output.exists():
            return False  # it was finished
        with file_errors(str(self.folder)):
            self.folder.mkdir(parents=True, exist_ok=True)
        self.write(_MANIFEST, json.dumps(said, indent=1).encode())
        return True

    def has(self, name: str) -> bool:
        """Whether a part is done."""
        return (self.folder / name).is_file()

    def read(self, name: str) -> bytes:
        """A part that is done."""
        return (self.folder / name).read_bytes()

    def write(self, name: str, data: bytes) -> None:
        """Make a part, whole or not at all."""
        _write_whole(self.folder / name, [data])

    def join(self, names: Iterable[str]) -> None:
        """Put parts together as the output, and remove the folder."""
        _write_whole(self.output, (self.read(name) for name in names))
        self.remove()

    def remove(self) -> None:
        """Remove the folder: what says whose the parts are goes last."""
        for path in self.folder.iterdir():
            if path.name != _MANIFEST:
                path.unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)


def identity_of(name: str) -> dict[str, Any]:
    """What tells a file from another one: its size, and a digest of its two ends."""
    with file_errors(name), open(name, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        digest = hashlib.sha256(stream.read(_ENDS))
        stream.seek(max(0, size - _ENDS))
        digest.update(stream.read(_ENDS))
    return {"name": os.path.basename(name), "bytes": size, "digest": digest.hexdigest()[:16]}


def _write_whole(path: Path, pieces: Iterable[bytes]) -> None:
    beside = path.with_name(f"{path.name}.{os.getpid()}.unfinished")
    with file_errors(str(path)):
        with beside.open("wb") as stream:
            for piece in pieces:
                stream.write(piece)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
