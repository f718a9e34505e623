"""anabranch: split real connections over weighted network paths, right to the noise floor."""

from anabranch._core import VERSION, AnabranchError
from anabranch.own import Scheme
from anabranch.results import Run, open  # noqa: A004
from anabranch.runs.run import run
from anabranch.schemes import LoadBalancer, schemes
from anabranch.splitter import Hash, Splitter, Technique, Weight, hashes, techniques
from anabranch.study.sweep import sweep
from anabranch.trace import Carried, Trace, generate_trace, generators, read_trace
from anabranch.tuples import FIVE_TUPLE, five_tuples, flow_keys

__version__ = VERSION

__all__ = [
    "FIVE_TUPLE",
    "AnabranchError",
    "Carried",
    "Hash",
    "LoadBalancer",
    "Run",
    "Scheme",
    "Splitter",
    "Technique",
    "Trace",
    "Weight",
    "__version__",
    "five_tuples",
    "flow_keys",
    "generate_trace",
    "generators",
    "hashes",
    "open",
    "read_trace",
    "run",
    "schemes",
    "sweep",
    "techniques",
]
