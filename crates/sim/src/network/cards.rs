//! Hosts' network cards: room in them, and turns.

use super::{Address, Network, Served, source};
use crate::card::{Cards, Owner, Turn};
use crate::queue::NEVER_PS;

impl Network {
    /// Whether a half may let another frame wait at its host; if not, it is told when it may.
    #[inline(always)]
    pub(crate) fn room(&mut self, address: &Address, owner: Owner, slot: &mut u32, frame_bytes: u16) -> bool {
        let Some(cards) = &mut self.cards else { return true };
        if cards.one_at_a_time() {
            return self.turn(address, owner, slot);
        }
        cards.room(owner, *slot, frame_bytes.into())
    }

    /// Whether a sender whose packets are made at their turn has its turn; if not, it is told when it has.
    fn turn(&mut self, address: &Address, owner: Owner, slot: &mut u32) -> bool {
        let Some(cards) = &mut self.cards else { return true };
        let Err((queue, idle)) = cards.turn(address.host, owner, *slot) else { return true };
        *slot = queue;
        if idle {
            cards.set_due(address.host, self.ports[address.port as usize].free_ps().max(self.now_ps));
            self.queue.set(source::CARDS, cards.due_ps());
        }
        false
    }

    /// Whether a half has packets in its host's card.
    pub(crate) fn waits(&self, owner: Owner, slot: u32) -> bool {
        self.cards.as_ref().is_some_and(|cards| cards.waits(owner, slot))
    }

    /// When a packet that a host sends now begins to leave by its port: at once where cards keep data until their turn, and
    /// else behind all that waits there. A pause prolongs it.
    pub(crate) fn leaves_ps(&self, port: u32) -> u64 {
        if self.cards.is_some() {
            return self.now_ps;
        }
        let egress = &self.ports[port as usize];
        let waiting_bytes =
            self.classed.as_deref().map_or(0, |classed| classed.ports[port as usize].queues.waiting_bytes());
        egress.free_ps().max(self.now_ps) + egress.bytes_ps(waiting_bytes)
    }

    /// The host whose card's turns are due now.
    pub(crate) fn begin_service(&mut self) -> Option<u32> {
        self.cards.as_mut()?.begin_service()
    }

    /// Bytes that wait in a host's card.
    #[inline]
    pub(crate) fn waiting_bytes(&self, host: u32) -> u64 {
        self.cards.as_ref().map_or(0, |cards| cards.waiting_bytes(host))
    }

    /// Serves the next in turn at a host, if its port has sent most of what it was given. Says whose turn it was, if
    /// that is a sender who waits for room.
    #[inline]
    pub(crate) fn serve(&mut self, host: u32, port: u32) -> Served {
        let Some(cards) = &mut self.cards else { return Served::Nobody };
        if cards.is_empty(host) {
            return Served::Nobody;
        }
        let one = cards.one_at_a_time();
        if one {
            if !self.is_free(port) {
                return Served::Nobody;
            }
            if let Some(starved) = self.cards.as_mut().and_then(|cards| cards.end_served(host)) {
                return Served::Half(starved);
            }
        }
        let Some(cards) = &mut self.cards else { return Served::Nobody };
        if self.classed.is_some() {
            if !self.park(host, port) {
                return Served::Nobody;
            }
        } else if !self.ports[port as usize].is_ready(self.now_ps, cards.ahead_bytes) {
            return Served::Nobody;
        }
        let Some(cards) = &mut self.cards else { return Served::Nobody };
        if one {
            if let Some(called) = cards.call(host) {
                return Served::Half(called);
            }
            let packets = &mut self.packets;
            let turn = cards.take_one(host, |id| packets.get(id).frame_bytes.into(), self.now_ps);
            if let Turn::Packet(id) = turn {
                self.enqueue_at::<true>(port, id);
            }
            return Served::Nobody;
        }
        cards.begin_turn(host);
        loop {
            let Some(cards) = &mut self.cards else { return Served::Nobody };
            let packets = &mut self.packets;
            match cards.take(host, |id| packets.get(id).frame_bytes.into(), self.now_ps) {
                Turn::Packet(id) => self.enqueue_at::<true>(port, id),
                Turn::Over(starved) => return Served::Half(starved),
            }
        }
    }

    /// The card's next turns are when its port has sent what it was given; none if nobody waits.
    pub(crate) fn end_service(&mut self, host: u32, port: u32) {
        let Some(cards) = &mut self.cards else { return };
        cards.end_service(host);
        self.time_card(host, port);
        if let Some(front) = self.cards.as_ref().and_then(Cards::foresee) {
            self.packets.prefetch(front);
        }
    }

    /// Sets the time of a card's next turns, which may have changed with its port's rate.
    pub(crate) fn time_card(&mut self, host: u32, port: u32) {
        let Some(cards) = &mut self.cards else { return };
        let free_ps = if self.classed.is_some() && !cards.one_at_a_time() {
            self.now_ps
        } else {
            self.ports[port as usize].free_ps().max(self.now_ps)
        };
        cards.set_due(host, if cards.is_empty(host) { NEVER_PS } else { free_ps });
        self.queue.set(source::CARDS, cards.due_ps());
    }
}
