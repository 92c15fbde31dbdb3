"""Build what is published, and use it as somebody does who has never seen this folder.

``make dist-check`` runs this file: wheel and sdist are built into ``dist/`` and looked through, and
the wheel is installed into a new environment in a temporary folder, with the locked dependencies
from the package index. ``tests/test_dist.py`` does the same without a network: there the new
environment borrows the installed dependencies.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from packaging.metadata import Metadata

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
MYPY_CONFIG = "[mypy]\nstrict = true\n"
_NOT_PACKED = ".ci/"


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command as a user's shell does, away from this folder, and return what it printed."""
    unset = {"PYTHONPATH", "PYTHONHOME", "MYPYPATH", "VIRTUAL_ENV"}
    environment = {key: value for key, value in os.environ.items() if key not in unset}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        shown = " ".join(str(part) for part in command)
        raise AssertionError(f"{shown} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(out: Path, source: Path = ROOT) -> tuple[Path, Path]:
    """Build wheel and sdist, and return their paths."""
    out.mkdir(parents=True)
    run(sys.executable, "-m", "hatchling", "build", "-d", out, cwd=source)
    (wheel,) = out.glob("*.whl")
    (sdist,) = out.glob("*.tar.gz")
    assert sorted(out.iterdir()) == sorted([wheel, sdist])
    return wheel, sdist


def check_wheel(wheel: Path) -> None:
    """Check that a wheel holds the package, its licence and valid metadata, and nothing else."""
    assert wheel.name == f"sweeper-{PROJECT['version']}-py3-none-any.whl"
    info = f"sweeper-{PROJECT['version']}.dist-info/"
    with zipfile.ZipFile(wheel) as packed:
        content = {name: packed.read(name) for name in packed.namelist()}
    package = {name for name in content if not name.startswith(info)}
    assert package == set(files_of_package())
    assert {"sweeper/py.typed", "sweeper/starter/gitignore.txt"} <= package
    assert content[f"{info}licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()
    assert (
        content[f"{info}entry_points.txt"].split()
        == b"[console_scripts] sweep = sweeper.cli:main".split()
    )
    metadata = Metadata.from_email(content[f"{info}METADATA"], validate=True)
    assert (metadata.name, str(metadata.version)) == ("sweeper", PROJECT["version"])
    assert metadata.summary == PROJECT["description"]
    assert metadata.license_expression == "Apache-2.0"
    assert str(metadata.requires_python) == PROJECT["requires-python"]
    assert set(metadata.provides_extra or ()) == set(PROJECT["optional-dependencies"])
    assert metadata.description_content_type == "text/markdown"
    assert (metadata.description or "").strip() == (ROOT / "README.md").read_text("utf-8").strip()


def files_of_package() -> Iterable[str]:
    """Yield the files of the package in this folder, as a wheel names them."""
    for path in sorted((ROOT / "sweeper").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(ROOT).as_posix()


def check_sdist(sdist: Path) -> None:
    """Check that an sdist holds what is kept under version control, and none of the results."""
    top = sdist.name.removesuffix(".tar.gz") + "/"
    with tarfile.open(sdist) as packed:
        members = packed.getmembers()
    assert all(member.isfile() and member.name.startswith(top) for member in members)
    names = {member.name.removeprefix(top) for member in members}
    assert {"PKG-INFO", "LICENSE", "README.md", "tests/dist_check.py", *files_of_package()} <= names
    assert {name for name in names if name.startswith("results/")} <= {"results/README.md"}
    if (ROOT / ".git").exists():
        listed = "git", "ls-files", "--cached", "--others", "--exclude-standard"
        kept = {name for name in run(*listed, cwd=ROOT).splitlines() if (ROOT / name).is_file()}
        assert names - {"PKG-INFO"} == {n for n in kept if not n.startswith(_NOT_PACKED)}


def check_rebuilt(sdist: Path, wheel: Path, folder: Path) -> None:
    """Check that the sdist alone makes the same wheel, byte for byte."""
    with tarfile.open(sdist) as packed:
        packed.extractall(folder, filter="data")
    again, _ = build(folder / "again", folder / sdist.name.removesuffix(".tar.gz"))
    assert again.read_bytes() == wheel.read_bytes()


def install_locked(wheel: Path, folder: Path) -> Path:
    """Make an environment of the wheel and its locked dependencies; return its Python."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    pip = python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"
    run(*pip, "--require-hashes", "-r", ROOT / "requirements" / "core.txt", cwd=folder)
    run(*pip, "--no-deps", wheel, cwd=folder)
    run(python, "-m", "pip", "check", cwd=folder)
    # Results are frames: whoever checks types against them has these stubs as well.
    run(*pip, "--no-deps", f"pandas-stubs=={version('pandas-stubs')}", cwd=folder)
    return python


def install_beside(wheel: Path, folder: Path) -> Path:
    """Make an environment of the wheel that borrows our own dependencies; return its Python."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    pip = sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"
    run(*pip, "install", "--quiet", "--no-index", "--no-deps", wheel, cwd=folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    # A .pth file is not followed from there, so that the sweeper under test is not ours.
    own = "".join(f"{path}\n" for path in sys.path if path.endswith("site-packages"))
    (packages / "borrowed.pth").write_text(own, "utf-8")
    return python


def use(python: Path, folder: Path) -> None:
    """Go the way of a newcomer."""
    sweep = python.parent / "sweep"
    where = run(python, "-c", "import sweeper; print(sweeper.__file__)", cwd=folder)
    assert Path(where.strip()).is_relative_to(python.parent.parent), where
    assert run(sweep, "--version", cwd=folder) == f"sweeper {PROJECT['version']}\n"
    assert run(python, "-m", "sweeper", "--help", cwd=folder) == run(sweep, "--help", cwd=folder)
    run(sweep, "init", "demo", cwd=folder)
    demo = folder / "demo"
    run(sweep, "check", "configs/recency.yaml", cwd=demo)
    run(sweep, "run", "configs/recency.yaml", cwd=demo)
    assert "recency/" in run(sweep, "list", cwd=demo)
    for command in ("show", "pick"):
        assert run(sweep, command, "recency", cwd=demo)
    report = demo / run(sweep, "report", "recency", cwd=demo).split()[-1]
    assert report.read_text("utf-8").startswith("<!doctype html>")


def check_types(python: Path, folder: Path) -> None:
    """Check a program of somebody else's against the installed package, then run it."""
    folder.mkdir()
    shutil.copy(ROOT / "tests" / "typing" / "consumer.py", folder)
    (folder / "mypy.ini").write_text(MYPY_CONFIG, "utf-8")
    mypy = sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--cache-dir", "cache"
    run(*mypy, "--python-executable", python, "consumer.py", cwd=folder)
    run(python.parent / "sweep", "init", "project", cwd=folder)
    run(python, "consumer.py", folder / "project", cwd=folder)


def main() -> None:
    """Do all of it, with the locked dependencies."""
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    wheel, sdist = build(ROOT / "dist")
    check_wheel(wheel)
    check_sdist(sdist)
    with tempfile.TemporaryDirectory() as name:
        away = Path(name)
        check_rebuilt(sdist, wheel, away / "sdist")
        python = install_locked(wheel, away / "environment")
        use(python, away)
        check_types(python, away / "consumer")
    for made in (wheel, sdist):
        print(f"{made.relative_to(ROOT)}: built, installed, run")


if __name__ == "__main__":
    main()
