"""anabranch: split, plan, simulate, deploy and reproduce traffic over the many paths of a datacenter fabric.

Eight rooms, each of which imports only those before it: `files`, `split`, `simulate`, `report`, `deploy`, `lab`,
`reproduce`, `cli`. Everything public is a name of this module.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from anabranch.files.errors import AnabranchError

if TYPE_CHECKING:
    from anabranch.report.comparison.compare import compare
    from anabranch.report.comparison.outcome import Comparison
    from anabranch.report.notebook.scenario import Scenario
    from anabranch.simulate.learning.environment import Environment
    from anabranch.simulate.load_balancers import LoadBalancer, schemes
    from anabranch.simulate.network import Done, Network, NetworkResults
    from anabranch.simulate.own import Scheme
    from anabranch.simulate.runs.interference import Interference, interference
    from anabranch.simulate.runs.results import Run
    from anabranch.simulate.runs.run import run
    from anabranch.simulate.scenario.study import Study
    from anabranch.simulate.study.conduct import sweep
    from anabranch.simulate.study.open import open  # noqa: A004
    from anabranch.simulate.study.outcome import StudyOutcome
    from anabranch.split.connections import Connections
    from anabranch.split.splitter import Hash, Revision, Splitter, Technique, Weight, hashes, techniques
    from anabranch.split.tolerance.judge import Judgement, judge
    from anabranch.split.tolerance.tolerance import Tolerance
    from anabranch.split.trace import Carried, Trace, generate_trace, generators, read_trace
    from anabranch.split.tuples import FIVE_TUPLE, five_tuples, flow_keys

__version__: str

__all__ = [
    "FIVE_TUPLE",
    "AnabranchError",
    "Carried",
    "Comparison",
    "Connections",
    "Done",
    "Environment",
    "Hash",
    "Interference",
    "Judgement",
    "LoadBalancer",
    "Network",
    "NetworkResults",
    "Revision",
    "Run",
    "Scenario",
    "Scheme",
    "Splitter",
    "Study",
    "StudyOutcome",
    "Technique",
    "Tolerance",
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
    "judge",
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
    "simulate.learning.environment": ("Environment",),
    "report.comparison.compare": ("compare",),
    "report.comparison.outcome": ("Comparison",),
    "simulate.load_balancers": ("LoadBalancer", "schemes"),
    "simulate.network": ("Done", "Network", "NetworkResults"),
    "simulate.own": ("Scheme",),
    "simulate.runs.interference": ("Interference", "interference"),
    "simulate.runs.results": ("Run",),
    "simulate.runs.run": ("run",),
    "split.connections": ("Connections",),
    "split.splitter": ("Hash", "Revision", "Splitter", "Technique", "Weight", "hashes", "techniques"),
    "report.notebook.scenario": ("Scenario",),
    "simulate.scenario.study": ("Study",),
    "simulate.study.conduct": ("sweep",),
    "simulate.study.open": ("open",),
    "simulate.study.outcome": ("StudyOutcome",),
    "split.tolerance.judge": ("Judgement", "judge"),
    "split.tolerance.tolerance": ("Tolerance",),
    "split.trace": ("Carried", "Trace", "generate_trace", "generators", "read_trace"),
    "split.tuples": ("FIVE_TUPLE", "five_tuples", "flow_keys"),
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
    return __all__
