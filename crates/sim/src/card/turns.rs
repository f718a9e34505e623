//! Turns of a card's queues, and the time of the next.

use super::{Card, Cards, NONE, Owner, area};
use crate::queue::NEVER_PS;
use crate::slab::PacketId;
use anabranch_split::prefetch::prefetch;

/// Result of a turn.
pub(crate) enum Turn {
    /// The next packet of the queue whose turn it is: its name. The frame's bytes are for the caller to tell.
    Packet(PacketId),
    /// The turn is over; this half has room again, and wanted some.
    Over(Option<u32>),
}

impl Cards {
    /// The sender whose turn it is, if its packet is yet to be made; nobody if it made none.
    pub(crate) fn call(&mut self, host: u32) -> Option<Option<u32>> {
        let queue = &mut self.queues[self.cards[host as usize].first as usize];
        if queue.packets > 0 {
            return None;
        }
        if std::mem::replace(&mut queue.called, true) {
            return Some(self.end_turn(host));
        }
        queue.wants_room = false;
        let Owner::Sender(name) = queue.owner else { return Some(self.end_turn(host)) };
        Some(Some(name))
    }

    /// The turn of the first queue begins.
    pub(crate) fn begin_turn(&mut self, host: u32) {
        let first = self.cards[host as usize].first;
        self.queues[first as usize].credit += self.turn_bytes;
    }

    /// The packet in front of the queue whose turn it is, if `frame_bytes` says that its frame is within what the
    /// queue may send.
    #[inline]
    pub(crate) fn take(&mut self, host: u32, frame_bytes: impl FnOnce(PacketId) -> u32, now_ps: u64) -> Turn {
        let card = &mut self.cards[host as usize];
        let slot = card.first;
        let queue = &mut self.queues[slot as usize];
        if queue.packets > 0 {
            let id = queue.first;
            let bytes = frame_bytes(id);
            if bytes <= queue.credit {
                queue.first = self.behind[id.slot()];
                queue.credit -= bytes;
                queue.bytes -= bytes;
                queue.packets -= 1;
                card.waiting_bytes -= u64::from(bytes);
                card.waiting_byte_ps = card.waiting_byte_ps.wrapping_add(area(bytes, now_ps));
                return Turn::Packet(id);
            }
        }
        Turn::Over(self.end_turn(host))
    }

    /// The first packet of the queue whose turn begins, which sends no other until the port is free again.
    pub(crate) fn take_one(
        &mut self,
        host: u32,
        frame_bytes: impl FnOnce(PacketId) -> u32,
        now_ps: u64,
    ) -> Turn {
        self.queues[self.cards[host as usize].first as usize].credit = u32::MAX;
        let turn = self.take(host, frame_bytes, now_ps);
        self.cards[host as usize].served = matches!(turn, Turn::Packet(_));
        turn
    }

    /// Ends the turn of a queue whose packet has been sent, if it is that: who wanted room has it.
    pub(crate) fn end_served(&mut self, host: u32) -> Option<Option<u32>> {
        std::mem::take(&mut self.cards[host as usize].served).then(|| self.end_turn(host))
    }

    /// The first queue goes to the end of the line, or out of it. The sender that has room now, if it wanted some.
    fn end_turn(&mut self, host: u32) -> Option<u32> {
        let card = &mut self.cards[host as usize];
        let slot = card.first;
        let queue = &mut self.queues[slot as usize];
        let wanted = std::mem::take(&mut queue.wants_room);
        let starved = if let (true, Owner::Sender(name)) = (wanted, queue.owner) { Some(name) } else { None };
        card.first = queue.next;
        let is_over = queue.packets == 0;
        if let Some(next) = self.queues.get(card.first as usize) {
            card.front = next.first;
            prefetch(self.queues.as_ptr().wrapping_add(next.next as usize));
        } else {
            card.last = NONE;
        }
        let queue = &mut self.queues[slot as usize];
        if is_over {
            card.senders -= u32::from(matches!(queue.owner, Owner::Sender(_)));
            queue.owner = Owner::Nobody;
            self.free.push(slot);
        } else {
            self.line_up(host, slot);
        }
        starved
    }

    /// Fetches what the next turn of any card will need; the packet in front that it names is the caller's to fetch.
    #[inline(always)]
    pub(crate) fn foresee(&self) -> Option<PacketId> {
        let (_, host) = self.due.first()?;
        let Card { first, front, .. } = self.cards[host];
        prefetch(self.queues.as_ptr().wrapping_add(first as usize));
        prefetch(self.behind.as_ptr().wrapping_add(front.slot()));
        Some(front)
    }

    /// The card whose turns are due, and time is.
    pub(crate) fn begin_service(&mut self) -> Option<u32> {
        let (_, host) = self.due.first()?;
        self.cards[host].serving = true;
        Some(host as u32)
    }

    /// No more turns for now.
    pub(crate) fn end_service(&mut self, host: u32) {
        self.cards[host as usize].serving = false;
    }

    /// The next turn of a card is at this time, or never.
    pub(crate) fn set_due(&mut self, host: u32, at_ps: u64) {
        self.due.set(host as usize, at_ps);
    }

    /// When the next turn of any card is.
    pub(crate) fn due_ps(&self) -> u64 {
        self.due.first().map_or(NEVER_PS, |(at_ps, _)| at_ps)
    }
}
