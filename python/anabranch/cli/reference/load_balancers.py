"""Pages of the load balancers: a table of all, and one page for each rule."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.cli.reference.markdown import GENERATED, code, table
from anabranch.simulate.load_balancers import LoadBalancer, Mutation, schemes

MUTATIONS = """\
`routing.mutation` breaks a mechanism on purpose, to see which results depend on it; `anabranch reproduce STUDY
--mutations` breaks each and prints which verdicts turn."""
GRANULARITIES = ("flow", "flowlet", "flowcell", "packet")

HEAD = f"""# Load balancers

{GENERATED}

A scenario names one under `routing.balance` (`mptcp` under `transport.kind`). All of them run in the simulator; the
column "runs in" says where else. `anabranch schemes` prints this table, `anabranch schemes show NAME` the page of one.
[Which one to use](which.md) compares them; [a load balancer of your own](own-scheme.md) needs no change to anabranch.
"""


def pages() -> dict[str, str]:
    """Pages by name: one that lists all, and one for each page that load balancers share."""
    families: dict[str, list[LoadBalancer]] = {}
    for balancer in schemes():
        families.setdefault(balancer.page, []).append(balancer)
    each = {f"load-balancers/{family[0].name}.md": _page(family) for family in families.values()}
    return {"load-balancers.md": _list(families), **each}


def _list(families: dict[str, list[LoadBalancer]]) -> str:
    names = [
        (f"a {granularity}", " ".join(code(one.name) for one in schemes() if one.granularity == granularity))
        for granularity in GRANULARITIES
    ]
    text = f"{HEAD}\n{table(('kept together', 'names'), names)}"
    for granularity in GRANULARITIES:
        rows = [
            (
                f"[`{balancer.name}`](load-balancers/{family[0].name}.md)",
                balancer.summary,
                balancer.decided_by,
                ", ".join(balancer.needs) or "-",
                _runs_in(balancer),
                balancer.published,
            )
            for family in families.values()
            for balancer in family
            if balancer.granularity == granularity
        ]
        columns = ("name", "in a sentence", "decided by", "needs", "runs in", "published")
        text += f"\n## Each {granularity}\n\n{table(columns, rows)}"
    return text


def _page(family: Sequence[LoadBalancer]) -> str:
    title, _, rest = family[0].page.strip().partition("\n")
    facts = [
        (
            code(f'{balancer.setting} = "{balancer.name}"'),
            f"a {balancer.granularity}",
            balancer.decided_by,
            ", ".join(balancer.needs) or "nothing but the packet's headers",
            _runs_in(balancer),
            balancer.why_no_program or "-",
        )
        for balancer in family
    ]
    columns = ("in a scenario", "keeps together", "decided by", "needs", "runs in", "not as eBPF, because")
    text = f"{title}\n\n{GENERATED}\n{rest}\n\n## Where it runs\n\n{table(columns, facts)}"
    for balancer in family:
        if balancer.reads_elsewhere is not None:
            whose, what = balancer.reads_elsewhere
            parts = (
                "In parts of a fabric it runs if racks stay whole." if whose == "rack" else "It cannot run in parts."
            )
            text += f"\n{code(balancer.name)} reads state of other nodes in its {whose}: {what}. {parts}\n"
    return text + "".join(_parameters(balancer, len(family) > 1) for balancer in family) + _mutations(family)


def _parameters(balancer: LoadBalancer, several: bool) -> str:
    if not balancer.parameters:
        return ""
    where = balancer.setting.partition(".")[0]
    rows = [(code(f"{where}.{one.key}"), one.wants, one.default, one.meaning) for one in balancer.parameters]
    title = f"Parameters of `{balancer.name}`" if several else "Parameters"
    return f"\n## {title}\n\n{table(('key', 'value', 'default', 'meaning'), rows)}"


def _mutations(family: Sequence[LoadBalancer]) -> str:
    """What of a family `routing.mutation` breaks; load balancers of one page may have some in common."""
    having: dict[Mutation, list[str]] = {}
    for balancer in family:
        for mutation in balancer.mutations:
            having.setdefault(mutation, []).append(code(balancer.name))
    if not having:
        return ""
    rows = [(code(one.name), ", ".join(names), one.broken) for one, names in having.items()]
    return f"\n## Mutations\n\n{MUTATIONS}\n\n{table(('routing.mutation', 'of', 'so that'), rows)}"


def _runs_in(balancer: LoadBalancer) -> str:
    programs = ", ".join(balancer.programs)
    return ", ".join((*balancer.runs_in, *([f"eBPF ({programs})"] if programs else [])))
