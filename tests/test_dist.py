"""What is published: built, looked through, and used outside this folder, without a network."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests import dist_check

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return dist_check.build(tmp_path_factory.mktemp("dist") / "out")


def test_the_wheel_holds_the_package_its_licence_and_valid_metadata(
    built: tuple[Path, Path],
) -> None:
    dist_check.check_wheel(built[0])


def test_a_wheel_that_lacks_a_file_is_noticed(built: tuple[Path, Path], tmp_path: Path) -> None:
    short = tmp_path / built[0].name
    with zipfile.ZipFile(built[0]) as whole, zipfile.ZipFile(short, "w") as packed:
        for name in whole.namelist():
            if name != "sweeper/py.typed":
                packed.writestr(name, whole.read(name))
    with pytest.raises(AssertionError):
        dist_check.check_wheel(short)


def test_the_sdist_holds_what_is_kept_and_none_of_the_results(built: tuple[Path, Path]) -> None:
    dist_check.check_sdist(built[1])


def test_the_sdist_makes_the_same_wheel_again(built: tuple[Path, Path], tmp_path: Path) -> None:
    dist_check.check_rebuilt(built[1], built[0], tmp_path)


def test_the_installed_wheel_runs_and_is_typed(built: tuple[Path, Path], tmp_path: Path) -> None:
    python = dist_check.install_beside(built[0], tmp_path / "environment")
    dist_check.use(python, tmp_path)
    dist_check.check_types(python, tmp_path / "consumer")
