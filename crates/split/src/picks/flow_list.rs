//! Flow list: a linked list scanned from its head for every packet, as the artefact of the VALO paper keeps the routing
//! results of its WRR (`ofproto-dpif-xlate.c`, `group_best_live_bucket`). It exists to measure its cost.

use super::Flows;
use std::collections::LinkedList;

/// Flows in order of arrival; a look-up takes time linear in their number.
#[derive(Clone, Debug, Default)]
pub struct FlowList(LinkedList<(u64, u16)>);

impl Flows for FlowList {
    type Note = ();

    fn get(&self, flow: u64) -> Option<(u16, ())> {
        self.0.iter().find(|entry| entry.0 == flow).map(|entry| (entry.1, ()))
    }

    fn upsert<D>(&mut self, flow: u64, decide: D) -> u16
    where
        D: FnOnce(Option<(u16, ())>) -> (u16, ()),
    {
        if let Some(entry) = self.0.iter_mut().find(|entry| entry.0 == flow) {
            entry.1 = decide(Some((entry.1, ()))).0;
            return entry.1;
        }
        let (member, ()) = decide(None);
        self.0.push_back((flow, member));
        member
    }

    fn sweep<O, F>(&mut self, slots: usize, over: O, mut freed: F)
    where
        O: Fn(u16, &()) -> bool,
        F: FnMut(u16),
    {
        for _ in 0..slots.min(self.0.len()) {
            if let Some(entry) = self.0.pop_front() {
                if over(entry.1, &()) {
                    freed(entry.1);
                } else {
                    self.0.push_back(entry);
                }
            }
        }
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn slots(&self) -> usize {
        self.0.len()
    }

    fn bytes(&self) -> usize {
        // A node is an entry and two links.
        self.0.len() * (size_of::<(u64, u16)>() + 2 * size_of::<usize>())
    }
}
