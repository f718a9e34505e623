//! Deadlock: ports that are paused and wait for each other in a circle, so that none will ever move (cyclic buffer
//! dependency, Dally and Seitz 1987; in RoCE fabrics Hu et al. 2016).
//!
//! A pause of a port ends when frames of it leave the switch behind it. If all of those wait at ports that are paused
//! themselves, and so on, nothing leaves. The largest set of pauses that is closed in this way is stuck for good, and each
//! circle in it is a deadlock.

use super::{Classed, NOWHERE};
use crate::Class;

impl Classed {
    /// Ports of a circle of pauses that will never end, in the order in which each waits for the next, if there is one.
    pub(crate) fn deadlock(&self, class: Class) -> Option<Vec<u32>> {
        let queue = class as usize;
        let mut stuck: Vec<bool> = (0..self.ports.len())
            .map(|port| self.ports[port].queues.is_paused(queue) && self.ingress[port][queue].paused)
            .collect();
        let waits_for: Vec<Vec<u32>> = self.dependencies(queue, &stuck);
        loop {
            let freed = (0..stuck.len()).find(|&port| {
                let free = |&next: &u32| !stuck[next as usize];
                stuck[port] && (waits_for[port].is_empty() || waits_for[port].iter().any(free))
            });
            match freed {
                Some(port) => stuck[port] = false,
                None => break,
            }
        }
        // Each stuck port waits for stuck ones only, so that any walk among them comes back to where it was.
        let mut walk = vec![stuck.iter().position(|&stuck| stuck)? as u32];
        loop {
            let next = waits_for[*walk.last()? as usize][0];
            if let Some(first) = walk.iter().position(|&port| port == next) {
                return Some(walk.split_off(first));
            }
            walk.push(next);
        }
    }

    /// Ports at which frames wait that came in by each paused port.
    fn dependencies(&self, queue: usize, paused: &[bool]) -> Vec<Vec<u32>> {
        let mut waits_for = vec![Vec::new(); self.ports.len()];
        for (port, classed) in (0..).zip(&self.ports) {
            for frame in classed.queues.waiting(queue).filter(|frame| frame.ingress != NOWHERE) {
                let waits: &mut Vec<u32> = &mut waits_for[frame.ingress as usize];
                if paused[frame.ingress as usize] && waits.last() != Some(&port) {
                    waits.push(port);
                }
            }
        }
        waits_for
    }
}
