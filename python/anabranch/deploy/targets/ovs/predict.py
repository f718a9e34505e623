"""The split that a bridge gives a group, and where one connection goes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from anabranch.deploy.openflow.tables import Tables
from anabranch.deploy.targets.ovs import desired, plan_file, recipes
from anabranch.deploy.targets.ovs.observe import Observed, observe
from anabranch.deploy.targets.ovs.options import VERSION, ExplainGroupOptions, ExplainOptions, ForecastOptions, Options
from anabranch.deploy.targets.ovs.plan_file import PlanFile
from anabranch.deploy.targets.ovs.prediction import Predicted, Predictor
from anabranch.deploy.targets.ovs.recipes import Switch, parse_version
from anabranch.deploy.targets.ovs.selection import by_dp_hash, by_selection, parse_bucket_ids
from anabranch.deploy.targets.plan.explanation import Explanation
from anabranch.deploy.targets.plan.group import Group
from anabranch.deploy.targets.plan.recipe import Forecast
from anabranch.files.errors import AnabranchError
from anabranch.files.hints import choose, nearest

METHODS = ("hash", "dp_hash", "default")
UNNUMBERED = 1 << 16
"""Numbers from here on stand for ports of a bridge that nobody asked."""


def forecast(group: Group, options: ForecastOptions, bound_pct: float, *, strict: bool) -> Forecast:
    """All recipes, for the version and the numbers of the options."""
    switch = Switch(parse_version(options.ovs_version), options.bridge, options.group, options.param)
    return recipes.forecast(group, switch, bound_pct, strict)


def explain_group(group: Group, options: ExplainGroupOptions, tuples: npt.NDArray[np.void]) -> list[Explanation]:
    """The bucket of each connection in a select group with these weights.

    Raises:
        AnabranchError: an unknown method, bucket ids that do not fit, weights that the method does not score.

    """
    method = choose(options.method or "hash", METHODS, "method")
    switch = Switch(parse_version(options.ovs_version or VERSION), parameter=options.param or 0)
    bucket_ids = parse_bucket_ids(options.bucket_ids, len(group.weights))
    if method == "hash":
        return by_selection(tuples, group, switch, bucket_ids)
    return by_dp_hash(tuples, group, switch, bucket_ids, method == "default")


def explain(plan: str, options: ExplainOptions, tuples: npt.NDArray[np.void]) -> list[Predicted]:
    """The path of each connection once the plan is applied: by the bridge that the options name, or by a fresh one.

    Raises:
        AnabranchError: a rule asks for the port that packets come in by and none is given, or the plan leaves the seed
            to the bridge and no bridge is named.

    """
    planned = plan_file.FORM.read(plan)
    if options.bridge or options.openflow:
        with observe(planned, Options(options.bridge, options.openflow), writes=False) as observed:
            return _predicted(planned, observed, tuples, options.in_port)
    unseeded = [group for group in planned.groups if group.seed is None and group.recipe != "failover"]
    if unseeded:
        planned.refuse(unseeded[0], "seed", "missing, and the bridge has it; give --bridge, or a seed in the plan")
    named = [port for group in planned.groups for port in planned.port_names(group)]
    ports = {name: UNNUMBERED + index for index, name in enumerate(dict.fromkeys(named))}
    numbers = {port for group in planned.groups for port in group.ports if isinstance(port, int)} | {*ports.values()}
    fresh = Observed("", None, 0, ports, dict.fromkeys(numbers, True), [], [], Tables())
    return _predicted(planned, fresh, tuples, options.in_port)


def _predicted(
    plan: PlanFile, observed: Observed, tuples: npt.NDArray[np.void], in_port: str | None
) -> list[Predicted]:
    if in_port is not None and in_port not in observed.ports:
        raise AnabranchError(f"in-port: {in_port}: no port there; {nearest(in_port, observed.ports)}")
    aimed = desired.desired(plan, observed.ports, observed.own, observed.datapath_id)
    paths = {plan.ownership.group_id(one.split.index): one.split.ports for one in aimed.groups}
    predictor = Predictor(aimed.tables, plan.ownership.table, observed.up, observed.names, paths)
    return predictor.predict(tuples, None if in_port is None else observed.ports[in_port])
