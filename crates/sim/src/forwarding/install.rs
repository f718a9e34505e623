//! Plans of routing become tables: groups continue others, are new, or are retired.

use super::Forwarding;
use super::table::{Members, NO_LEAF, Row, Table};
use crate::SimulationError;
use crate::door::SwitchBalancer;
use anabranch_fabric::{Fabric, LinkState};
use anabranch_plan::{Group, Groups};
use std::collections::HashMap;

/// Origin of a group: the group before, the ports, the weights.
type Origin = (Option<u32>, Vec<u32>, Vec<u64>);

/// Plan that is installed, and the one before; the links as switches see them.
#[derive(Clone, Copy)]
struct Changes<'a> {
    plan: &'a Groups,
    before: Option<&'a Groups>,
    actual: &'a LinkState,
    fabric: &'a Fabric,
}

/// Groups that decide an entry of the table: the planned one, the one of the fabric as built, the one before.
type Entry = (u32, Option<u32>, Option<u32>);

impl<B: SwitchBalancer> Forwarding<B> {
    /// Installs `plan`. A switch that forwards as in the plan `before`, if there is one, keeps its table.
    pub(super) fn install(
        &mut self,
        plan: &Groups,
        before: Option<&Groups>,
        actual: &LinkState,
        fabric: &Fabric,
    ) -> Result<(), SimulationError> {
        let mut table = Table::default();
        // Where divisions stand that are taken over.
        let mut moved: HashMap<u32, u32> = HashMap::new();
        let mut own_of = vec![NO_LEAF; fabric.nodes().len() - self.hosts as usize];
        for (leaf, &node) in (0..).zip(&plan.leaves) {
            own_of[(node - self.hosts) as usize] = leaf;
        }
        let mut division = vec![0; plan.leaves.len()];
        for (switch, own) in (0..).zip(own_of) {
            let first = table.groups.len() as u32;
            let at = if before.is_some_and(|before| plan.forwards_as(before, switch + self.hosts)) {
                let at = self.table.rows[switch as usize].at;
                table.groups.extend_from_slice(&self.table.groups[self.table.groups_of(switch)]);
                let parts = &self.table.parts.flat()[at as usize..][..plan.leaves.len()];
                *moved.entry(at).or_insert_with(|| table.parts.offset(parts))
            } else {
                let changes = Changes { plan, before, actual, fabric };
                self.divide(switch, own, changes, &mut table.groups, &mut division)?;
                table.parts.offset(&division)
            };
            table.rows.push(Row { own, at, first, len: table.groups.len() as u32 - first });
        }
        self.table = table;
        self.retire_unused();
        Ok(())
    }

    /// Divides the destinations, of which `own` is the switch's own, among groups, which are added to `groups`.
    fn divide(
        &mut self,
        switch: u32,
        own: u32,
        changes: Changes<'_>,
        groups: &mut Vec<Members>,
        division: &mut [u32],
    ) -> Result<(), SimulationError> {
        let Changes { plan, before, actual, fabric } = changes;
        let first = groups.len();
        // Groups that replace the same one, or none, by the same ports and weights are one. Those of earlier times are
        // not: nobody told them what died since.
        let mut known: HashMap<Origin, u32> = HashMap::new();
        let mut entries: HashMap<Entry, u32> = HashMap::new();
        // New parts of groups that stay, by their old parts.
        let old = self.table.rows.get(switch as usize).copied();
        let mut kept = vec![None; old.map_or(0, |row| row.len as usize)];
        let mut add = |group: Members| {
            groups.push(group);
            (groups.len() - 1 - first) as u32
        };
        let mut previous = 0;
        let mut last: Option<(Entry, u32)> = None;
        let mut same: Option<(usize, usize, bool)> = None;
        for (leaf, part) in (0..).zip(division) {
            if leaf == own {
                // What stands here is not read: as for the destination before, so that leaves divide alike.
                *part = previous;
                continue;
            }
            let planned = plan.index(switch + self.hosts, leaf);
            let heir = old.map(|row| self.table.parts.flat()[(row.at + leaf) as usize]);
            if let (Some(before), Some(heir), Some(row)) = (before, heir, old) {
                // What is planned as before stays as it is.
                let was = before.index(switch + self.hosts, leaf);
                let as_before = match same {
                    Some((one, other, same)) if (one, other) == (planned, was) => same,
                    _ => plan.groups[planned] == before.groups[was],
                };
                same = Some((planned, was, as_before));
                if as_before {
                    let group = self.table.groups[(row.first + heir) as usize];
                    previous = *kept[heir as usize].get_or_insert_with(|| add(group));
                    *part = previous;
                    continue;
                }
            }
            let heir_of = heir.map(|_| self.table.group(switch, leaf));
            let built = self.routes.built.as_ref().map(|built| built.group(switch, leaf));
            let entry = (planned as u32, built, heir_of);
            // Most entries are as the one before them.
            let part_of = last.filter(|(known, _)| *known == entry).map(|(_, part)| part);
            previous = match part_of.or_else(|| entries.get(&entry).copied()) {
                Some(part) => part,
                None => {
                    let origin = self.origin(&plan.groups[planned], built, heir_of);
                    let part = match known.get(&origin) {
                        Some(&part) => part,
                        None => {
                            let group = self.renew(fabric, switch, &origin, actual)?;
                            let members = self.members[group as usize];
                            match heir.filter(|_| heir_of == Some(group)) {
                                Some(heir) => *kept[heir as usize].get_or_insert_with(|| add(members)),
                                None => add(members),
                            }
                        }
                    };
                    known.insert(origin, part);
                    entries.insert(entry, part);
                    part
                }
            };
            *part = previous;
            last = Some((entry, previous));
        }
        Ok(())
    }

    /// Origin of the group that follows from a planned one.
    fn origin(&self, planned: &Group, built: Option<u32>, heir_of: Option<u32>) -> Origin {
        let (ports, weights) = self.members_of(planned, [built, heir_of]);
        // Tables and states of a group mean its members by their numbers: they go on only where those stay.
        let heir_of = heir_of.filter(|&group| self.ports_of(group) == ports);
        (heir_of, ports, weights)
    }

    /// The group of `origin`: the one that it continues if nothing is new, another otherwise.
    fn renew(
        &mut self,
        fabric: &Fabric,
        switch: u32,
        origin: &Origin,
        actual: &LinkState,
    ) -> Result<u32, SimulationError> {
        let (heir_of, ports, weights) = origin;
        if let Some(heir) = *heir_of
            && let Some((_, before)) = &self.routes.groups[heir as usize]
            && before == weights
        {
            // It has heard of every change at its switch.
            return Ok(heir);
        }
        let len = ports.len() as u16;
        let group = match self.routes.retired.get_mut(&len).and_then(Vec::pop) {
            Some(group) => group,
            None => {
                let (group, first) = (self.members.len() as u32, self.ports.len() as u32);
                self.members.push(Members { group, first, len, alive: false });
                self.ports.resize(self.ports.len() + ports.len(), 0);
                self.carries.resize(self.ports.len(), false);
                self.routes.groups.push(None);
                self.members.len() as u32 - 1
            }
        };
        let first = self.members[group as usize].first as usize;
        self.ports[first..first + ports.len()].copy_from_slice(ports);
        self.routes.groups[group as usize] = Some((switch, weights.clone()));
        self.weigh(fabric, group, actual, *heir_of)?;
        Ok(group)
    }

    /// Retires the groups that are neither in use nor those of the fabric as built.
    fn retire_unused(&mut self) {
        let mut used = vec![false; self.members.len()];
        let built = self.routes.built.iter().flat_map(|table| &table.groups);
        for members in self.table.groups.iter().chain(built) {
            used[members.group as usize] = true;
        }
        for (group, _) in (0..).zip(used).filter(|&(_, used)| !used) {
            if self.routes.groups[group as usize].take().is_some() {
                let len = self.members[group as usize].len;
                self.routes.retired.entry(len).or_default().push(group);
                self.balancer.retire(group);
            }
        }
    }

    /// Ports and weights of a planned group. If one of the `olds`, which are the group of the fabric as built and the
    /// one it replaces, has all its ports, that one's list is kept: labels are counted in the first, tables and states in
    /// the second. What is no next hop any more weighs nothing.
    fn members_of(&self, planned: &Group, olds: [Option<u32>; 2]) -> (Vec<u32>, Vec<u64>) {
        let member = |port: &u32| planned.members.iter().find(|member| member.port == *port);
        let has_all = |old: &&[u32]| planned.members.iter().all(|member| old.contains(&member.port));
        match olds.into_iter().flatten().map(|group| self.ports_of(group)).find(has_all) {
            Some(old) => (
                old.to_vec(),
                old.iter().map(|port| member(port).map_or(0, |member| member.weight)).collect(),
            ),
            None => planned.members.iter().map(|member| (member.port, member.weight)).unzip(),
        }
    }
}
