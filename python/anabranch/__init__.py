"""anabranch: split real connections over weighted network paths, right to the noise floor."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from anabranch.errors import AnabranchError

if TYPE_CHECKING:
    from anabranch.comparison.compare import compare
    from anabranch.comparison.outcome import Comparison
    from anabranch.learning.environment import Environment
    from anabranch.load_balancers import LoadBalancer, schemes
    from anabranch.own import Scheme
    from anabranch.runs.interference import Interference, interference
    from anabranch.runs.results import Run
    from anabranch.runs.run import run
    from anabranch.scenario.scenario import Scenario
    from anabranch.scenario.study import Study
    from anabranch.splitter import Hash, Splitter, Technique, Weight, hashes, techniques
    from anabranch.study.conduct import sweep
    from anabranch.study.open import open  # noqa: A004
    from anabranch.study.outcome import StudyOutcome
    from anabranch.trace import Carried, Trace, generate_trace, generators, read_trace
    from anabranch.tuples import FIVE_TUPLE, five_tuples, flow_keys

__version__: str

__all__ = [
    "FIVE_TUPLE",
    "AnabranchError",
    "Carried",
    "Comparison",
    "Environment",
    "Hash",
    "Interference",
    "LoadBalancer",
    "Run",
    "Scenario",
    "Scheme",
    "Splitter",
    "Study",
    "StudyOutcome",
    "Technique",
    "Trace",
    "Weight",
    "__version__",
    "compare",
    "five_tuples",
    "flow_keys",
    "generate_trace",
    "generators",
    "hashes",
    "interference",
    "open",
    "read_trace",
    "run",
    "schemes",
    "sweep",
    "techniques",
]

# NumPy and the extension take longer to import than most commands run: a name is imported when it is asked for
# (PEP 562).
_MODULES = {
    "learning.environment": ("Environment",),
    "comparison.compare": ("compare",),
    "comparison.outcome": ("Comparison",),
    "load_balancers": ("LoadBalancer", "schemes"),
    "own": ("Scheme",),
    "runs.interference": ("Interference", "interference"),
    "runs.results": ("Run",),
    "runs.run": ("run",),
    "splitter": ("Hash", "Splitter", "Technique", "Weight", "hashes", "techniques"),
    "scenario.scenario": ("Scenario",),
    "scenario.study": ("Study",),
    "study.conduct": ("sweep",),
    "study.open": ("open",),
    "study.outcome": ("StudyOutcome",),
    "trace": ("Carried", "Trace", "generate_trace", "generators", "read_trace"),
    "tuples": ("FIVE_TUPLE", "five_tuples", "flow_keys"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    value: Any
    if name == "__version__":
        value = import_module(f"{__name__}._core").VERSION
    elif name in _MODULE_OF:
        value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
