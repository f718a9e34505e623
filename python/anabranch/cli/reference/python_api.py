"""The page of the Python API: every public name of the package, by its signature and its docstring."""

from __future__ import annotations

import inspect
import re
from typing import Any

import anabranch
from anabranch.cli.reference.markdown import GENERATED

HEAD = f"""# Python

{GENERATED}

`import anabranch as ab` gives the names below and imports what they need when they are first used. What else stands
in the package serves the command line and may change between versions. Errors that a user can cause are
`AnabranchError`, which is a `ValueError`.

```python
import anabranch as ab

run = ab.run("examples/leaf-spine.toml", {{"traffic.load": 0.8}})
run.flows.filter(run.flows["size_bytes"] < 100_000)["slowdown"].mean()
```
"""

SECTIONS = {
    "Simulate": ("Scenario", "run", "open", "Run", "interference", "Interference"),
    "Drive": ("Network", "Done", "NetworkResults"),
    "Studies": ("compare", "Comparison", "Study", "sweep", "StudyOutcome"),
    "Load balancers": ("schemes", "LoadBalancer", "Scheme", "Environment"),
    "Split": ("Splitter", "Connections", "Revision", "techniques", "Technique", "Weight"),
    "Acceptance of a split": ("Tolerance", "judge", "Judgement"),
    "Connections and traces": (
        "five_tuples", "flow_keys", "FIVE_TUPLE", "hashes", "Hash",
        "read_trace", "generate_trace", "generators", "Trace", "Carried",
    ),
    "Errors": ("AnabranchError",),
}  # fmt: skip
LINE_MAX = 100
INDENTED = re.compile(r"^(Args|Raises|Returns|Yields):$", re.MULTILINE)


def page() -> str:
    """The page `python.md`.

    Raises:
        ValueError: a public name stands in no section, or a name of a section is not public.

    """
    sorted_out = {name for names in SECTIONS.values() for name in names} | {"__version__"}
    if sorted_out != set(anabranch.__all__):
        raise ValueError(f"names in no section, or not public: {sorted_out ^ set(anabranch.__all__)}")
    text = HEAD
    for title, names in SECTIONS.items():
        text += f"\n## {title}\n" + "".join(_entry(name) for name in names)
    return text


def _entry(name: str) -> str:
    value = getattr(anabranch, name)
    if inspect.isclass(value) and value.__module__.startswith("anabranch"):
        return _class(name, value)
    if inspect.isroutine(value):
        return f"\n### `{name}`\n\n{_signature(f'ab.{name}', value)}{_docstring(value)}"
    return f"\n### `{name}`\n\n`{value}`\n{_constant(name)}"


def _class(name: str, kind: type) -> str:
    head = f"class ab.{name}" if issubclass(kind, Exception) else ""
    text = f"\n### `{name}`\n\n" + (f"```python\n{head}\n```\n" if head else _signature(f"ab.{name}", kind))
    text += _docstring(kind)
    for member, value in vars(kind).items():
        if member.startswith("_") or issubclass(kind, Exception):
            continue
        if isinstance(value, classmethod):
            value = value.__func__
        if inspect.isfunction(value):
            text += f"\n#### `{name}.{member}`\n\n{_signature(member, value)}{_docstring(value)}"
        elif isinstance(value, property) or hasattr(value, "func"):
            text += f"\n#### `{name}.{member}`\n{_docstring(value)}"
    return text


def _signature(called: str, value: Any) -> str:
    signature = inspect.signature(value)
    shown: list[str] = []
    kinds = [one.kind for one in signature.parameters.values()]
    for one in signature.parameters.values():
        if one.kind is one.KEYWORD_ONLY and "*" not in shown and one.VAR_POSITIONAL not in kinds:
            shown.append("*")
        if one.name not in ("self", "cls"):
            shown.append(_parameter(one))
    returned = "" if inspect.isclass(value) else f" -> {signature.return_annotation}"
    line = f"{called}({', '.join(shown)}){returned}"
    if len(line) > LINE_MAX:
        listed = "".join(f"    {one},\n" for one in shown)
        line = f"{called}(\n{listed}){returned}"
    return f"```python\n{line}\n```\n"


def _parameter(one: inspect.Parameter) -> str:
    stars = "*" * (one.kind is one.VAR_POSITIONAL) + "**" * (one.kind is one.VAR_KEYWORD)
    default = "" if one.default is one.empty else f" = {one.default!r}"
    return f"{stars}{one.name}: {one.annotation}{default}"


def _docstring(value: Any) -> str:
    """A docstring as Markdown; its lists of arguments and errors become lists."""
    lines: list[str] = []
    listed = False
    for line in (inspect.getdoc(value) or "").splitlines():
        if INDENTED.match(line):
            listed = True
            lines += [f"*{line.rstrip(':')}*", ""]
        elif listed and re.match(r"^    \S", line):
            called, colon, rest = line.strip().partition(":")
            lines.append(f"* `{called}`{colon}{rest}")
        elif listed and line.startswith("        "):
            lines[-1] += f" {line.strip()}"
        else:
            listed = listed and (not line or line.startswith(" "))
            lines.append(line)
    return "\n" + "\n".join(lines).rstrip() + "\n"


def _constant(name: str) -> str:
    """The text below a module's constant, which Python itself does not keep."""
    for module in ("split.tuples", "split.splitter"):
        source = inspect.getsource(__import__(f"anabranch.{module}", fromlist=[module]))
        match = re.search(rf'^{name} = .*?\n"""(.*?)"""', source, re.MULTILINE | re.DOTALL)
        if match:
            return f"\n{match[1]}\n"
    return ""
