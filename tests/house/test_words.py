"""The house's words: how doc comments begin, and which words public names do without.

A doc comment opens with a noun phrase or with a verb and its object, complete by itself. A fragment ("Of the leaf",
"What a port holds", "As it was sent") sends its reader in search of the rest of the sentence.
"""

from __future__ import annotations

import ast
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
# The share of fragments that no part of the tree may exceed, in percent.
LIMIT = 3
FRAGMENT = re.compile(
    r"(?:Of|For|What|Where|As|That|Whose|Who|By|To whom|Whatever|Whoever|Those|So many|See|In words)\b", re.IGNORECASE
)

# The left column of the glossary: words, or rows of words, that no public name contains.
RETIRED = (
    "aim",
    "alone",
    "books",
    "edge",
    "found",
    "hand",
    "held",
    "machine",
    "made",
    "mend",
    "place",
    "police",
    "standing",
    "strand",
    "tell",
    "telling",
    "territory",
    "there",
    "to be",
    "told",
    "unusual",
    "wanted",
    "way",
)
# Words that say of a thing that it was found, made or said, and not what it is: no name of Python contains one, be it
# private, an argument or a variable.
RIDDLES = ("found", "held", "made", "mend", "noticed", "said", "there", "told", "wanted", "wishes")
# The right column of the glossary: the words to use instead, which its page defines.
CHOSEN = {
    "hint",
    "path",
    "slot",
    "environment",
    "target options",
    "observed",
    "desired",
    "report",
    "notify",
    "ownership",
    "host balancer",
    "switch balancer",
    "load balancer",
    "target",
    "datapath",
    "sender",
    "receiver",
    "unroutable",
    "policed",
    "counters",
    "enqueue",
    "faults",
    "pick",
    "plan",
    "change",
    "claim",
    "verdict",
    "backend",
    "class",
    "message",
}
# Names in which such a word has its plain meaning: an edge of a graph, the computer we run on, a hook of asyncio.
PLAIN = {
    "AttributeEdge",
    "Edge",
    "EdgeSetting",
    "FabricEdge",
    "FabricEdgeBack",
    "edge",
    "edges",
    "connection_made",
    "machine",
    "check_machine",
    # A key of /status.json and of the metrics, which dashboards read.
    "wanted_share",
}
# Names with such a word that others read: columns of JSON documents, hooks of asyncio.
PLAIN_THERE = {
    ("python/anabranch/cli/machine.py", "found"),
    ("python/anabranch/deploy/control/pages/server.py", "connection_made"),
    ("python/anabranch/deploy/control/state.py", "wanted_share"),
    ("python/anabranch/deploy/openflow/channel.py", "connection_made"),
}
# Names that still contain a retired word. The lists only ever get shorter.
REMAINING: dict[str, set[str]] = {
    "rust": {
        # What a meter of Wino does: networks police traffic.
        "Police",
    },
    "python": {
        # Reproductions, and the column `found` of `anabranch doctor --json`.
        "ALONE",
        "EDGES",
        "Place",
        "found",
        "place",
    },
    "option": set(),
    "key": set(),
}


class Comment(NamedTuple):
    """A doc comment's first line, and where it stands."""

    part: str
    position: str
    opening: str


class Name(NamedTuple):
    """A public name: its kind, its text, and one file that has it."""

    kind: str
    text: str
    file: str


def tracked(*suffixes: str) -> list[str]:
    """Files of the repository with one of these suffixes, as git lists them."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\0") if name.endswith(suffixes) and (ROOT / name).is_file()]


def part_of(file: str) -> str:
    """The part of the tree a file belongs to: a crate, the Python package, or a folder at the root."""
    names = file.split("/")
    return "/".join(names[: 2 if names[0] in {"crates", "python"} else 1])


def rust_openings(text: str) -> Iterator[tuple[int, str]]:
    """First lines of the doc comments of a Rust file, with their numbers."""
    before = None
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r"\s*(///|//!)(?!/)\s?(.*)", line)
        if mark and mark[1] != before and mark[2].strip():
            yield number, mark[2].strip()
        before = mark and mark[1]


def python_openings(text: str) -> Iterator[tuple[int, str]]:
    """First lines of the docstrings of a Python file, those below attributes included, with their numbers."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for before, statement in zip([None, *node.body], node.body, strict=False):
            attribute = isinstance(node, ast.Module | ast.ClassDef) and isinstance(before, ast.Assign | ast.AnnAssign)
            match statement:
                case ast.Expr(value=ast.Constant(value=str(docstring))) if before is None or attribute:
                    yield statement.lineno, docstring.strip().partition("\n")[0]


def comments() -> Iterator[Comment]:
    """All doc comments of the tree."""
    for file in tracked(".rs", ".py"):
        openings = rust_openings if file.endswith(".rs") else python_openings
        for line, opening in openings((ROOT / file).read_text()):
            yield Comment(part_of(file), f"{file}:{line}", opening)


def rust_names(text: str) -> Iterator[str]:
    """Public items, fields and variants of a Rust file."""
    qualifiers = r'(?:(?:const|unsafe|async|extern(?: "C")?) )*'
    item = rf"^\s*pub(?:\([^)]*\))? {qualifiers}(?:(?:fn|struct|enum|trait|mod|type|static|const|union) )?(\w+)"
    yield from re.findall(item, text, re.MULTILINE)
    for body in re.findall(r"^pub(?:\([^)]*\))? enum \w+[^{]*\{(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        yield from re.findall(r"^    ([A-Z]\w*)", body, re.MULTILINE)


def python_names(file: str, tree: ast.Module) -> Iterator[str]:
    """The module's own name, its functions, classes and constants, and their methods and fields."""
    yield Path(file).parent.name if file.endswith("__init__.py") else Path(file).stem
    rooms: list[ast.Module | ast.ClassDef] = [tree]
    while rooms:
        for node in rooms.pop().body:
            if isinstance(node, ast.ClassDef):
                rooms.append(node)
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield node.name
            if isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                yield from (target.id for target in targets if isinstance(target, ast.Name))


def all_python_names(tree: ast.Module) -> Iterator[str]:
    """Every name that a module gives: of functions, classes, arguments, attributes and variables."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def toml_keys(table: object) -> Iterator[str]:
    """All keys of a document, at any depth."""
    if isinstance(table, dict):
        yield from table
    for value in table.values() if isinstance(table, dict) else table if isinstance(table, list) else ():
        yield from toml_keys(value)


def public_names() -> Iterator[Name]:
    """Public names of the tree: Rust items, Python's, options of the command line, keys of files."""
    for file in tracked(".rs", ".py", ".toml", ".md"):
        text = (ROOT / file).read_text()
        names: list[tuple[str, str]] = []
        match Path(file).parts[0], Path(file).suffix:
            case (("crates" | "ebpf"), ".rs"):
                names += [("rust", name) for name in rust_names(text)]
            case (("python" | "studies"), ".py"):
                names += [("python", name) for name in python_names(file, ast.parse(text)) if name[0] != "_"]
                if "/cli/" in file:
                    names += [("option", name) for name in re.findall(r'"--([a-z][a-z-]+)(?:/[^"]*)?"', text)]
            case _, ".toml" if Path(file).name not in {"Cargo.toml", "pyproject.toml"}:
                names += [("key", key) for path in toml_keys(tomllib.loads(text)) for key in path.split(".")]
            case "docs", ".md":
                keys = re.findall(r"^\| `([a-z_.\[\]]+)` \|", text, re.MULTILINE)
                names += [("key", key) for path in keys for key in path.split(".")]
        yield from (Name(kind, name, file) for kind, name in names)


def words(name: str) -> str:
    """The words of a name in any spelling, in small letters with spaces around each."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", " ", name)
    return f" {apart.strip().lower()} "


def retired_word(name: str) -> str | None:
    """The first retired word that a name contains, also in the plural."""
    return next((word for word in RETIRED if re.search(rf" {word}s? ", words(name))), None)


def test_doc_comments_open_with_something_complete() -> None:
    total: dict[str, int] = {}
    fragments: dict[str, list[Comment]] = {}
    for comment in comments():
        total[comment.part] = total.get(comment.part, 0) + 1
        if FRAGMENT.match(comment.opening):
            fragments.setdefault(comment.part, []).append(comment)
    above = [
        f"{part}: {len(ones)} of {total[part]} doc comments open with a fragment, at most {LIMIT} % may:\n"
        + "\n".join(f"  {one.position}: {one.opening}" for one in ones)
        for part, ones in sorted(fragments.items())
        if len(ones) > math.floor(total[part] * LIMIT / 100)
    ]
    assert not above, "\n".join(above)


@pytest.mark.parametrize("kind", sorted(REMAINING))
def test_public_names_contain_no_retired_word(kind: str) -> None:
    names = [name for name in public_names() if name.kind == kind]
    assert len({name.text for name in names}) > 20, "too few names were seen for this test to mean anything"
    offending = {
        name.text: f"{name.text}: {word} ({name.file})"
        for name in names
        if name.text not in REMAINING[kind] | PLAIN and (word := retired_word(name.text))
    }
    assert not offending, "\n".join(sorted(offending.values()))


def riddle(name: str) -> str | None:
    """The first word of a name that says nothing of what it names."""
    return next((word for word in words(name).split() if word in RIDDLES), None)


def test_names_of_python_say_what_they_name() -> None:
    offending = [
        f"{file}: {name}"
        for file in tracked(".py")
        if file.startswith(("python/", "studies/"))
        for name in sorted(set(all_python_names(ast.parse((ROOT / file).read_text()))))
        if riddle(name) and (file, name) not in PLAIN_THERE
    ]
    assert not offending, "\n".join(offending)


@pytest.mark.parametrize("name", ["found", "_told_apart", "isWanted", "said_bps"])
def test_a_planted_riddle_is_seen(name: str) -> None:
    assert riddle(name)
    assert name in set(all_python_names(ast.parse(f"def f({name}):\n    x = 1")))


class Term(NamedTuple):
    """A row of the glossary page: the term, its meaning, its name in the code, and the folder that has the name."""

    term: str
    meaning: str
    name: str
    folder: str


def terms() -> list[Term]:
    """All rows of the glossary page."""
    page = (ROOT / "docs" / "glossary.md").read_text()
    rows = re.findall(r"^\| (?!term |---).*$", page, re.MULTILINE)
    read = [re.fullmatch(r"\| ([^|]+) \| ([^|]+) \| `(\w+)` in `([\w/]+)` \|", row) for row in rows]
    assert all(read), f"a row should be `term | meaning | name in folder`: {rows[read.index(None)]}"
    return [Term(*row.groups()) for row in read if row]


def test_glossary_defines_the_chosen_words() -> None:
    defined = {word for row in terms() for word in row.term.split(", ")}
    assert defined >= CHOSEN, f"not in docs/glossary.md: {sorted(CHOSEN - defined)}"
    assert not defined & set(RETIRED)


def test_glossary_terms_have_one_sentence_and_a_name_in_the_code() -> None:
    sources = {file: (ROOT / file).read_text() for file in tracked(".rs", ".py")}
    for term, meaning, name, folder in terms():
        assert re.fullmatch(r"[A-Z0-9](?:(?!\. ).)*\.", meaning), f"{term}: {meaning}"
        texts = [text for file, text in sources.items() if file.startswith(f"{folder}/")]
        assert any(re.search(rf"\b{name}\b", text) for text in texts), f"{term}: no {name} in {folder}"
