//! What happens to the fabric while a simulation runs.

use super::Simulation;
use crate::SimulationError;
use crate::control;
use crate::door::SwitchBalancer;
use crate::flow_record::Fate;
use crate::network::Role;
use anabranch_fabric::What;

impl<B: SwitchBalancer> Simulation<'_, B> {
    pub(super) fn change(&mut self, what: What) -> Result<(), SimulationError> {
        self.links.apply(what);
        let now_ps = self.network.now_ps;
        if let What::NodeBlackhole(node, fraction) = what {
            self.blackholes.resize(self.fabric.nodes().len() - self.hosts_count as usize, 0);
            self.blackholes[(node - self.hosts_count) as usize] = (fraction * (1u64 << 32) as f64) as u64;
        }
        let ports = control::ports_changed(self.fabric, what);
        for &port in &ports {
            let role = self.network.role_at(port);
            if role != Role::Sender {
                // Who has the other end draws which frames the link loses.
                if let (Role::Receiver, What::PortLoss(_, loss)) = (role, what) {
                    self.network.ports[port as usize].set_loss(loss);
                }
                continue;
            }
            self.network.complete(port);
            self.network.take_arrived(port);
            let on_link = self.network.on_link(port);
            let carries = self.links.port_up(self.fabric, port);
            let egress = &mut self.network.ports[port as usize];
            match what {
                What::PortDown(_) | What::NodeDown(_) if !carries && egress.is_up() => {
                    let mut lost = egress.go_down(now_ps);
                    lost.extend(self.network.drain(port));
                    for id in lost {
                        self.network.discard(id, Fate::Lost, Some(port));
                    }
                    self.network.lose_arrivals(port, on_link);
                }
                What::PortUp(_) | What::NodeUp(_) if carries => egress.go_up(),
                What::PortRate(_, rate) => {
                    if let Some(arrive_ps) = egress.set_rate(now_ps, rate) {
                        self.network.time_arrivals(port, arrive_ps);
                    }
                }
                What::PortLoss(_, loss) => egress.set_loss(loss),
                What::PortDown(_) | What::PortUp(_) | What::NodeDown(_) | What::NodeUp(_) => {}
                What::NodeBlackhole(..) => {}
            }
        }
        for &port in &ports {
            let from = self.fabric.ports()[port as usize].from;
            if from < self.hosts_count && self.network.has_node(from) {
                self.network.time_card(from, port);
            }
        }
        // The switches at both ends of a link see it die.
        let mut nodes: Vec<u32> = ports
            .iter()
            .flat_map(|&port| {
                let port = &self.fabric.ports()[port as usize];
                [port.from, port.to]
            })
            .collect();
        nodes.sort_unstable();
        nodes.dedup();
        for &node in &nodes {
            self.forwarding.local_change(self.fabric, node, &self.links)?;
        }
        for &node in nodes.iter().filter(|&&node| node >= self.hosts_count) {
            if !self.network.has_node(node) {
                continue;
            }
            let is_own = |port: &u32| self.fabric.ports()[*port as usize].from == node;
            let own: Vec<u32> = ports.iter().copied().filter(is_own).collect();
            if !own.is_empty() {
                let switch = node - self.hosts_count;
                self.forwarding.balancer.ports_changed(switch, &own, &mut self.network);
            }
        }
        Ok(())
    }
}
