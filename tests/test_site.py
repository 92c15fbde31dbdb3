"""The documentation site: it builds without a warning, holds every page, and needs no network."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import sweeper
from sweeper.errors import EXIT_CODES, SweeperError
from tests.pages import PROJECT
from tests.reference_pages import error_kinds, exit_code_table, public_names

DOCS = sorted(path.stem for path in (PROJECT / "docs").glob("*.md"))


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=PROJECT,
        env={"NO_MKDOCS_2_WARNING": "1", "PATH": "", "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if not line.startswith("INFO ")]
    assert said == []
    return folder


class Elements(HTMLParser):
    """What a browser loads for a page, where it may go from there, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids.add(found.get("id", ""))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag == "link" and found.get("rel") not in ("canonical", "prev", "next"):
            self.loaded.append(found.get("href", ""))
        elif "src" in found:
            self.loaded.append(found["src"])


def elements(page: Path) -> Elements:
    return Elements(page.read_text("utf-8"))


def test_every_page_of_docs_is_in_the_navigation(site: Path) -> None:
    first = (site / "index.html").read_text("utf-8")
    navigation = first.partition("md-nav--primary")[2].partition('class="md-sidebar')[0]
    linked = set(re.findall(r'href="([^"#]+)\.html"', navigation)) | {"index"}
    assert linked >= {*DOCS, "contributing", "changelog"}


def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    pages = sorted(site.glob("*.html"))
    assert len(pages) > len(DOCS)
    for page in pages:
        for place in elements(page).loaded:
            assert re.match(r"(?!//)(?![a-z]+:)", place), f"{page.name}: {place}"
    styles = [path.read_text("utf-8") for path in site.rglob("*.css")]
    assert not [text for text in styles if re.search(r"@import|url\([\"']?(https?:)?//", text)]


def test_every_link_inside_the_site_leads_somewhere(site: Path) -> None:
    found = {page.name: elements(page) for page in site.glob("*.html") if page.name != "404.html"}
    dead = []
    for name, page in found.items():
        for link in page.links:
            if re.match(r"[a-z]+:", link):
                continue
            place, _, anchor = link.partition("#")
            target = place or name
            exists = target in (".", "") or (site / target).exists()
            if not exists or (anchor and target in found and anchor not in found[target].ids):
                dead.append(f"{name}: {link}")
    assert dead == []


def test_files_of_the_repository_that_pages_link_to_are_part_of_the_site(site: Path) -> None:
    for name in ("configs/recency.yaml", "sweeper/ranking.py"):
        assert (site / "repository" / name).read_bytes() == (PROJECT / name).read_bytes()


def test_every_public_name_is_in_the_python_reference(site: Path) -> None:
    names = [name for names in public_names().values() for name in names]
    assert sorted(names) == sweeper.__all__
    assert len({name.lower() for name in names}) == len(names), "two names share an anchor"
    page = elements(site / "api.html")
    assert {name.lower() for name in names} <= page.ids
    for name in names:
        assert any(re.fullmatch(rf"sweeper\.[\w.]+\.{name}", place) for place in page.ids), name


# --- exit codes -----------------------------------------------------------------------------------


def test_the_readme_and_the_pages_list_the_exit_codes_that_there_are() -> None:
    for name in ("README.md", "docs/cli.md", "docs/errors.md"):
        assert exit_code_table() in (PROJECT / name).read_text("utf-8"), name
    gate = (PROJECT / "docs/gate.md").read_text("utf-8").partition("## Exit codes")[2]
    codes = re.findall(r"^\| (\d+) \|", gate.partition("\n## ")[0], re.MULTILINE)
    assert {int(code) for code in codes} <= set(EXIT_CODES)


def test_each_error_has_a_code_that_is_explained() -> None:
    kinds = list(error_kinds())
    assert kinds[0] is SweeperError
    assert {kind.exit_code for kind in kinds} <= set(EXIT_CODES)
