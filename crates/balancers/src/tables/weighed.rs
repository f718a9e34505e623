//! Tables whose weights routing gives, or a [`Weigher`] once per epoch.

use crate::weigher::{MemberStats, WeighedGroup, Weigher};
use anabranch_sim::{
    Choice, GroupPlan, Junction, Network, PacketId, Progress, SimulationError, SwitchBalancer,
};
use anabranch_split::PlanError;
use std::cell::RefCell;

/// Switch that keeps the only timer, and its token.
const KEEPER: u32 = 0;
const EPOCH: u32 = 0;

/// A weigher, and the way to end the simulation if its weights make no sense.
pub(crate) struct Outside<'a> {
    weigher: RefCell<&'a mut dyn Weigher>,
    progress: &'a Progress,
    refused: RefCell<Option<SimulationError>>,
}

impl<'a> Outside<'a> {
    pub(crate) fn new(weigher: &'a mut dyn Weigher, progress: &'a Progress) -> Self {
        Self { weigher: RefCell::new(weigher), progress, refused: RefCell::default() }
    }

    /// Why the simulation was ended, if it was.
    pub(crate) fn refused(&self) -> Option<SimulationError> {
        self.refused.take()
    }
}

/// A balancer that picks by weights, and where they come from.
pub(crate) struct WeighedBalancer<'a, 'w, B> {
    picks: B,
    outside: Option<&'a Outside<'w>>,
    /// Node of the first switch.
    first_switch: u32,
    /// Known if there is a weigher.
    groups: Vec<Group>,
    /// Bytes sent by each port until the last epoch ended.
    sent_bytes: Vec<u64>,
}

/// A group as routing made it, and what the weigher said last.
struct Group {
    switch: u32,
    ports: Box<[u32]>,
    weights: Vec<u64>,
    asked: Option<Vec<u64>>,
    /// Routing put another in its stead.
    replaced: bool,
}

impl Group {
    /// Weights in force: the weigher's, less what is not up; routing's if that leaves nothing.
    fn effective(&self) -> Vec<u64> {
        let Some(asked) = &self.asked else { return self.weights.clone() };
        let up: Vec<u64> = self
            .weights
            .iter()
            .zip(asked)
            .map(|(&weight, &asked)| if weight > 0 { asked } else { 0 })
            .collect();
        if up.iter().any(|&weight| weight > 0) { up } else { self.weights.clone() }
    }

    fn is_asked_about(&self) -> bool {
        !self.replaced && self.ports.len() > 1 && self.weights.iter().any(|&weight| weight > 0)
    }
}

impl<'a, 'w, B: SwitchBalancer> WeighedBalancer<'a, 'w, B> {
    pub(crate) fn new(picks: B, outside: Option<&'a Outside<'w>>, first_switch: u32) -> Self {
        Self { picks, outside, first_switch, groups: Vec::new(), sent_bytes: Vec::new() }
    }

    /// Asks about every group, then closes the books of the epoch.
    fn end_epoch(&mut self, outside: &Outside<'_>, network: &mut Network) -> Result<(), SimulationError> {
        self.sent_bytes.resize(network.port_count(), 0);
        for number in 0..self.groups.len() as u32 {
            if self.groups[number as usize].is_asked_about() && !outside.progress.is_cancelled() {
                self.weigh(number, outside, network)?;
            }
        }
        for (port, sent_bytes) in (0..).zip(&mut self.sent_bytes) {
            *sent_bytes = network.sent_bytes(port);
        }
        Ok(())
    }

    fn weigh(
        &mut self,
        number: u32,
        outside: &Outside<'_>,
        network: &mut Network,
    ) -> Result<(), SimulationError> {
        let group = &mut self.groups[number as usize];
        let now_ps = network.now_ps();
        let stats: Vec<MemberStats> = group
            .ports
            .iter()
            .zip(&group.weights)
            .map(|(&port, &weight)| MemberStats {
                sent_bytes: network.sent_bytes(port) - self.sent_bytes[port as usize],
                backlog_bytes: network.backlog_bytes(port),
                rate_bps: network.rate_bps(port),
                up: weight > 0,
            })
            .collect();
        let shown = WeighedGroup {
            number,
            switch: self.first_switch + group.switch,
            ports: &group.ports,
            weights: &group.weights,
            now_ps,
        };
        let asked = outside.weigher.borrow_mut().weigh(&shown, &stats);
        let Some(asked) = asked else { return Ok(()) };
        check(&asked, &stats)?;
        let before = group.effective();
        group.asked = Some(asked);
        let weights = group.effective();
        if weights != before {
            let Group { switch, ports, .. } = &*group;
            let (switch, ports) = (*switch, &ports[..]);
            let heir_of = Some(number);
            self.picks.plan(&GroupPlan { group: number, switch, ports, weights: &weights, heir_of })?;
        }
        Ok(())
    }
}

/// Weights fit the group and leave something to pick.
fn check(asked: &[u64], stats: &[MemberStats]) -> Result<(), SimulationError> {
    if asked.len() != stats.len() {
        return Err(SimulationError::new(
            format!("weights: {} for {} members", asked.len(), stats.len()),
            "return one weight per member, or nothing to keep those before",
        ));
    }
    if !asked.iter().zip(stats).any(|(&weight, member)| weight > 0 && member.up) {
        return Err(SimulationError::new(
            format!("weights: {asked:?} leave no member that is up"),
            "return a positive weight for one of those that are up at least",
        ));
    }
    Ok(())
}

impl<B: SwitchBalancer> SwitchBalancer for WeighedBalancer<'_, '_, B> {
    fn hashes_headers(&self) -> bool {
        self.picks.hashes_headers()
    }

    /// Plans the group; weights that the weigher gave its members before still hold.
    fn plan(&mut self, wanted: &GroupPlan<'_>) -> Result<(), PlanError> {
        if self.outside.is_none() {
            return self.picks.plan(wanted);
        }
        let &GroupPlan { group, switch, ports, weights, heir_of } = wanted;
        let mut asked = None;
        if let Some(heir) = heir_of.and_then(|heir| self.groups.get_mut(heir as usize)) {
            heir.replaced = true;
            asked = heir.asked.clone().filter(|_| *heir.ports == *ports);
        }
        let next = Group { switch, ports: ports.into(), weights: weights.to_vec(), asked, replaced: false };
        let weights = next.effective();
        match self.groups.get_mut(group as usize) {
            Some(known) => *known = next,
            None => self.groups.push(next),
        }
        self.picks.plan(&GroupPlan { weights: &weights, ..*wanted })
    }

    fn retire(&mut self, group: u32) {
        if let Some(group) = self.groups.get_mut(group as usize) {
            group.replaced = true;
        }
        self.picks.retire(group);
    }

    #[inline(always)]
    fn choose(&mut self, at: &Junction<'_>, id: PacketId, network: &mut Network) -> Choice {
        self.picks.choose(at, id, network)
    }

    fn begin(&mut self, switch: u32, network: &mut Network) {
        self.picks.begin(switch, network);
        if switch == KEEPER && self.outside.is_some() {
            network.wake_switch(0, KEEPER, EPOCH);
        }
    }

    fn timer(&mut self, _switch: u32, _token: u32, network: &mut Network) {
        let Some(outside) = self.outside else { return };
        if let Err(error) = self.end_epoch(outside, network) {
            outside.refused.replace(Some(error));
            outside.progress.cancel();
            return;
        }
        let epoch_ps = outside.weigher.borrow().epoch_ps();
        network.wake_switch(network.now_ps() + epoch_ps, KEEPER, EPOCH);
    }
}
