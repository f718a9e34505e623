"""The slots of a bridge in the file that its switch names, and the tables that plans go on from."""

from __future__ import annotations

from anabranch.deploy.control.fabric import SwitchFile
from anabranch.deploy.control.kept_tables import KeptTables
from anabranch.deploy.control.session import Surroundings
from anabranch.deploy.openflow.tables import Tables
from anabranch.deploy.targets.ovs import slots
from anabranch.deploy.targets.ovs.kept import FORM, KeptSplit, complete, history, kept, names_of, with_owners
from anabranch.deploy.targets.ovs.ownership import Ownership
from anabranch.deploy.targets.ovs.session.rules import seed_of


class KeptSplits:
    """Splits towards leaves, by the leaf's name; without a file, none."""

    def __init__(self, switch: SwitchFile, surroundings: Surroundings, ownership: Ownership) -> None:
        """Has not read the file yet."""
        self._switch, self._network, self._ownership = switch, surroundings.network, ownership
        self._writes = surroundings.commits
        self._topology = surroundings.fabric.topology
        self._file = KeptTables(switch.keys.state, FORM)
        self._last: Tables | None = None
        """The tables that the file has."""
        self._planned: tuple[tuple[object, ...], Tables] | None = None
        """What the history was made of last, and the history."""

    def read(self) -> None:
        """Reads the file.

        Raises:
            AnabranchError: it is no such file, or it could not be written and will be.

        """
        self._file.read(writes=self._writes)
        self._last = None

    def keep(self, observed: Tables) -> None:
        """Writes the slots that a bridge has now, if they are others.

        Raises:
            AnabranchError: the file cannot be written.

        """
        if observed != self._last:
            self._file.keep(lambda: self._splits(observed))
            self._last = observed

    def history(self, observed: Tables) -> Tables:
        """The tables of a bridge, with the slots that it has lost."""
        splits, ports = self._file.by_group, self._ports()
        if not splits:
            return observed
        known = observed, splits, ports
        if self._planned is None or self._planned[0] != known:
            here = slots.owners(observed, self._ownership.inner_tables[0])
            owners = {
                group_id: history(here.get(group_id, {}), splits.get(leaf), ports)
                for leaf, group_id in self._group_ids().items()
            }
            self._planned = known, with_owners(observed, owners, self._ownership)
        return self._planned[1]

    def _splits(self, observed: Tables) -> dict[str, KeptSplit]:
        owners = slots.owners(observed, self._ownership.inner_tables[0])
        here = {leaf: owners.get(group_id, {}) for leaf, group_id in self._group_ids().items()}
        names, seed = names_of(self._ports(), self._switch.interfaces.values()), seed_of(self._switch.name)
        return {
            leaf: kept("multipath", seed, [by_slot[slot] for slot in range(len(by_slot))], names)
            for leaf, by_slot in here.items()
            if complete(by_slot)
        }

    def _ports(self) -> dict[str, int]:
        """OpenFlow numbers of the ports that the bridge has, by name."""
        port_of = {name: self._topology.port[end] for end, name in self._switch.interfaces.items()}
        numbers = {name: self._network.number(port) for name, port in port_of.items()}
        return {name: number for name, number in numbers.items() if number is not None}

    def _group_ids(self) -> dict[str, int]:
        return {leaf: self._ownership.group_id(index) for leaf, index in self._topology.leaf_index.items()}
