"""What the documentation site does with links that leave ``docs/``.

The pages are read in two places. In the repository a link such as ``../configs/recency.yaml`` leads
to a file; a site has no repository around it. So the site holds a copy of each such file under
``repository/``. CONTRIBUTING and CHANGELOG are pages of the site, a link to the README leads to its
first page, and what cannot be shown (a folder, a page of another place) becomes plain text. A link
whose text is the name of a page's file shows the page's title: the site shows no file names.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

__all__ = ["on_files", "on_page_markdown", "place_in_site", "with_links"]

PROJECT = Path(__file__).resolve().parents[1]
_PAGES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[([^\]]*)\]\((?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?\)")


def place_in_site(path: str) -> str | None:
    """Return where the site has a file of the repository, or None if it has none."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path == "README.md":
        return "index.md"
    if path in _PAGES:
        return _PAGES[path]
    shown = (PROJECT / path).is_file() and not path.endswith(".md")
    # A site leaves out files that are hidden.
    return f"repository/{path.removeprefix('.')}" if shown else None


def with_links(text: str, change: Callable[[str, str, str], str]) -> str:
    """Return a page with ``change(text, to, anchor)`` for each relative link outside code."""
    parts = _FENCED.split(text)
    parts[::2] = [_LINK.sub(lambda m: change(m[1], m[2], m[3] or ""), part) for part in parts[::2]]
    return "".join(parts)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and the copies that stand outside ``docs/``."""
    for path, uri in _PAGES.items():
        files.append(File.generated(config, uri, abs_src_path=str(PROJECT / path)))
    wanted: set[str] = set()
    for page in files.documentation_pages():
        source = _source(page.src_uri)

        def note(text: str, to: str, anchor: str, source: str = source) -> str:
            wanted.add(_target(source, to))
            return text

        with_links(page.content_string, note)
    for path in sorted(wanted):
        copy = place_in_site(path)
        if copy is not None and copy.startswith("repository/"):
            files.append(File.generated(config, copy, abs_src_path=str(PROJECT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point each link at the site's own place for what it names."""
    source = _source(page.file.src_uri)
    here = posixpath.dirname(page.file.src_uri)

    def change(text: str, to: str, anchor: str) -> str:
        place = place_in_site(_target(source, to))
        if place is None:
            return text
        if place == "index.md":
            anchor = ""
        if text.endswith(".md") and posixpath.basename(text) == posixpath.basename(to):
            text = _title(_target(source, to))
        return f"[{text}]({posixpath.relpath(place, here or '.')}{anchor})"

    return with_links(markdown, change)


def _source(uri: str) -> str:
    """Return the file of the repository that a page of the site is made of."""
    outside = {place: path for path, place in _PAGES.items()}
    return outside.get(uri, f"docs/{uri}")


def _title(path: str) -> str:
    found = re.search(r"^# (.+)$", (PROJECT / path).read_text("utf-8"), re.MULTILINE)
    assert found is not None, f"{path} has no title"
    return found[1]


def _target(source: str, to: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), to))
