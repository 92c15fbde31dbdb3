"""``sweep init``: write a small project that runs as it stands."""

from __future__ import annotations

import os
import shlex
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

import typer

from sweeper.cli import console
from sweeper.errors import InputError, Problem

__all__ = ["init", "write_starter"]

# A file called .gitignore inside the package would act on the package itself.
_RENAMED = {"gitignore.txt": ".gitignore"}


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="Where to write it; made if missing.")
    ] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
) -> None:
    """Write a small runnable project.

    For example: sweep init demo
    """
    written = write_starter(folder, force=force)
    console.emit(f"Wrote {len(written)} files to {folder}:")
    for path in written:
        console.emit(f"  {path.relative_to(folder)}")
    console.emit("\nNext:")
    if folder != Path():
        console.emit(f"  cd {shlex.quote(str(folder))}")
    console.emit("  sweep run configs/recency.yaml")
    console.emit("  sweep pick recency")
    console.emit("\nREADME.md says what each file holds, and how to put your own in.")


def write_starter(folder: Path, *, force: bool = False) -> list[Path]:
    """Write the starter project and return its files.

    Parameters
    ----------
    folder
        Made if missing.
    force
        Replace files that exist.

    Raises
    ------
    InputError
        If a file exists and ``force`` is not set, or a folder stands where a file belongs. Nothing
        is written then.
    StorageError
        If the disk is full or fails.
    """
    from sweeper.files import write_atomically

    content = {folder / name: data for name, data in _starter_files().items()}
    _check_room(folder, list(content), force=force)
    for path, data in content.items():
        write_atomically(path, data)
    return list(content)


def _starter_files() -> dict[str, bytes]:
    """Return the project's files: path in the project to content, in a fixed order."""
    found: dict[str, bytes] = {}

    def walk(place: Traversable, prefix: str) -> None:
        for entry in sorted(place.iterdir(), key=lambda item: item.name):
            if entry.is_dir():
                walk(entry, f"{prefix}{entry.name}/")
            else:
                found[prefix + _RENAMED.get(entry.name, entry.name)] = entry.read_bytes()

    walk(resources.files("sweeper") / "starter", "")
    return found


def _check_room(folder: Path, paths: list[Path], *, force: bool) -> None:
    inner = {parent for path in paths for parent in path.parents if parent.is_relative_to(folder)}
    files = [path for path in sorted(inner) if os.path.lexists(path) and not path.is_dir()]
    if files:
        message = "is a file, not a folder. Choose another place."
        raise InputError([Problem(message, str(path)) for path in files])
    blocked = [path for path in paths if path.is_dir()]
    if blocked:
        message = "is a folder, and a file of this name is to be written. Choose another place."
        raise InputError([Problem(message, str(path)) for path in blocked])
    standing = [path for path in paths if os.path.lexists(path)]
    if standing and not force:
        count = f"{len(standing)} of its files exist" if len(standing) > 1 else "one file exists"
        names = "".join(f"\n  {path}" for path in standing)
        raise InputError(
            f"nothing was written, because {count} already:{names}\n"
            "Choose another folder, or add --force to overwrite."
        )
