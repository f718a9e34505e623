"""Hooks of mkdocs: the pages of the site are those of the repository, under their own paths."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

PAGES = (
    "*.md",
    "docs/**/*.md",
    "docs/images/*",
    "docs/*.css",
    "docs/*.js",
    "bench/**/*.md",
    "studies/**/*.md",
    "build/recorded/*/figures/*.png",
    "tests/*/*.md",
)
LINKED = re.compile(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)")
"""Link of a page to another file of the repository."""
NOTEBOOKS = "docs/**/*.ipynb"
NOTEBOOK_LINK = re.compile(r"\]\(([^)#\s:]+)\.ipynb\)")
LOAD_BALANCERS = "docs/load-balancers"
FIGURES = re.compile(r"^Figures: `anabranch reproduce (\S+) --recorded` draws them\.$", re.MULTILINE)
"""Line of a page about a paper, in whose place the figures stand that `make docs` has drawn."""


def on_config(config: Any) -> None:
    """Puts a page for each load balancer below their list in the navigation."""
    root = Path(config.config_file_path).parent
    pages = sorted(path.relative_to(root).as_posix() for path in (root / LOAD_BALANCERS).glob("*.md"))
    for group in config.nav:
        for entries in group.values():
            for entry in entries:
                if isinstance(entry, dict) and f"{LOAD_BALANCERS}.md" in entry.values():
                    (title,) = entry
                    entry[title] = [{"All": f"{LOAD_BALANCERS}.md"}, *pages]


def on_files(files: Files, config: Any) -> Files:
    """Takes the repository's pages in place of those of one folder."""
    root = Path(config.config_file_path).parent
    kept = [file for file in files if file.src_dir != config.docs_dir]
    pages = {path for pattern in PAGES for path in root.glob(pattern) if path.is_file()}
    linked = {
        (page.parent / link).resolve()
        for page in pages
        if page.suffix == ".md"
        for link in LINKED.findall(page.read_text(encoding="utf-8"))
    }
    found = sorted(pages | {path for path in linked if path.is_file() and path.is_relative_to(root)})
    names = [path.relative_to(root).as_posix() for path in found]
    pages_of_notebooks = [
        File.generated(config, path.relative_to(root).with_suffix(".md").as_posix(), content=notebook(path))
        for path in sorted(root.glob(NOTEBOOKS))
    ]
    own = [File(name, str(root), config.site_dir, config.use_directory_urls) for name in names]
    return Files([*kept, *own, *pages_of_notebooks])


def notebook(path: Path) -> str:
    """Page of a notebook: its words and its code, in order, and a link to the file."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        lines = "".join(cell["source"])
        parts.append(lines if cell["cell_type"] == "markdown" else f"```python\n{lines}\n```")
    return "\n\n".join([*parts, f"<a href='{path.name}' download>The notebook itself</a>"])


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Puts the figures of a study where its page says how to draw them, and links pages of notebooks."""
    root = Path(config.config_file_path).parent
    markdown = NOTEBOOK_LINK.sub(r"](\1.md)", markdown)
    up = "../" * page.file.src_uri.count("/")

    def images(found: re.Match[str]) -> str:
        drawn = sorted(root.glob(f"build/recorded/*/figures/{found[1].replace('/', '-')}-*.png"))
        return "\n\n".join(f"![{path.stem}]({up}{path.relative_to(root).as_posix()})" for path in drawn)

    return FIGURES.sub(images, markdown)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Refuses a page that would fetch something from elsewhere."""
    if fetched := re.search(
        r'<(?:script|img|iframe)[^>]* src="?https?:[^>]*>|<link[^>]* rel="?stylesheet[^>]*https?:', output
    ):
        raise PluginError(f"{page.file.src_uri}: fetched from elsewhere: {fetched[0]}")
    return output
