//! Network cards that serve the connections of their host in turn.
//!
//! A card stands before its host's port. While nobody waits, a packet goes to the port as long as the port is busy for
//! no more than some full frames; otherwise it waits in a queue of its half of a connection. The card takes from those
//! queues in turn (deficit round robin), some full frames at a time, whenever the port has sent what it was given.
//!
//! An RDMA card calls senders in turn, one whenever its port is free, and only then does the sender make a packet, so that
//! windows, rates and round trips are those of the time at which it leaves. Answers wait as packets.

use crate::nic::Queueing;
use crate::queue::{EventQueue, NEVER_PS};
use crate::slab::PacketId;
use anabranch_fabric::Buffer;
use anabranch_split::prefetch::prefetch;

/// No queue.
const NONE: u32 = u32::MAX;

/// How a card takes turns.
#[derive(Clone, Copy)]
pub(crate) struct Turns {
    /// Most that one half's data may fill at once.
    pub(crate) limit: Buffer,
    /// Full frames with which a port is still ready for more (Linux: byte queue limits).
    pub(crate) frames_ahead: u32,
    /// Full frames that a queue may send in one turn (Linux: fq's quantum).
    pub(crate) frames_a_turn: u32,
}

impl Turns {
    /// Turns of a card, if it takes any.
    pub(crate) fn of(queueing: Queueing) -> Option<Self> {
        match queueing {
            Queueing::Fair { limit } => Some(Self { limit, frames_ahead: 3, frames_a_turn: 2 }),
            Queueing::Rdma => {
                let limit = Buffer { packets: 1, ..Buffer::UNLIMITED };
                Some(Self { limit, frames_ahead: 0, frames_a_turn: 1 })
            }
            Queueing::Fifo => None,
        }
    }
}

/// Owner of the packets in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Nobody's: the queue is free.
    Nobody,
    /// The sending half of a connection.
    Sender(u32),
    /// The receiving half of a connection.
    Receiver(u32),
    /// The host's own: messages of its load balancer.
    Host(u32),
}

/// Packets of one owner that wait, in order.
#[derive(Clone, Copy)]
struct Waiting {
    owner: Owner,
    first: PacketId,
    last: PacketId,
    bytes: u32,
    packets: u32,
    /// Bytes it may send before the next one's turn.
    credit: u32,
    /// The queue whose turn is next.
    next: u32,
    /// Whether its owner had more to send than it may let wait here.
    wants_room: bool,
    /// Whether it is the turn of a sender whose packet is made only now.
    called: bool,
}

/// One card.
#[derive(Clone, Copy)]
struct Card {
    /// Queues with packets, in the order of their turns.
    first: u32,
    last: u32,
    /// The host's own queue.
    own: u32,
    /// The packet in front of the first queue when its turn was known to come: fetched ahead, and only that.
    front: PacketId,
    /// Whether turns are being taken now: they set the time of the next by themselves.
    serving: bool,
    /// Whether the first queue has sent the one packet of its turn, which lasts as long as that packet's service.
    served: bool,
    /// Queues of senders.
    senders: u32,
    waiting_bytes: u64,
    /// Integral of the waiting bytes: each packet's bytes times when it left, less when it came.
    waiting_byte_ps: u128,
}

/// Result of a turn.
pub(crate) enum Turn {
    /// The next packet of the queue whose turn it is: its name. The frame's bytes are for the caller to tell.
    Packet(PacketId),
    /// The turn is over; this half has room again, and wanted some.
    Over(Option<u32>),
}

/// The fair cards of all hosts.
pub(crate) struct Cards {
    limit: Buffer,
    /// Bytes with which a port is still ready for more.
    pub(crate) ahead_bytes: u32,
    turn_bytes: u32,
    frame_bytes: u32,
    cards: Vec<Card>,
    queues: Vec<Waiting>,
    free: Vec<u32>,
    /// Packet behind each packet in its queue, by slot.
    behind: Vec<PacketId>,
    due: EventQueue,
    /// Queues of each host that wait for their class of data to go on: first and last, by class. Empty until one does.
    parked: Vec<[Parked; 2]>,
}

/// Queues of one host that wait for a class to go on, in the order of their turns.
#[derive(Clone, Copy)]
struct Parked {
    first: u32,
    last: u32,
}

impl Parked {
    const NOBODY: Self = Self { first: NONE, last: NONE };
}

impl Cards {
    pub(crate) fn new(hosts: u32, turns: Turns, frame_bytes: u32) -> Self {
        let Turns { limit, frames_ahead, frames_a_turn } = turns;
        let card = Card {
            first: NONE,
            last: NONE,
            own: NONE,
            front: PacketId::NONE,
            serving: false,
            served: false,
            senders: 0,
            waiting_bytes: 0,
            waiting_byte_ps: 0,
        };
        Self {
            limit,
            // What a rate can tell the time of.
            ahead_bytes: (frames_ahead * frame_bytes).min(u16::MAX.into()),
            turn_bytes: frames_a_turn * frame_bytes,
            frame_bytes,
            cards: vec![card; hosts as usize],
            queues: Vec::new(),
            free: Vec::new(),
            behind: Vec::new(),
            due: EventQueue::new(&(0..hosts).collect::<Vec<_>>()),
            parked: Vec::new(),
        }
    }

    /// Whether nobody waits at a host.
    #[inline(always)]
    pub(crate) fn is_empty(&self, host: u32) -> bool {
        self.cards[host as usize].first == NONE
    }

    /// Whether a half may let another frame wait; if not, it is told when it may.
    #[inline(always)]
    pub(crate) fn room(&mut self, owner: Owner, slot: u32, frame_bytes: u32) -> bool {
        let Some(queue) = self.queues.get_mut(slot as usize).filter(|queue| queue.owner == owner) else {
            return true;
        };
        let fits =
            queue.packets < self.limit.packets && queue.bytes.saturating_add(frame_bytes) <= self.limit.bytes;
        queue.wants_room |= !fits;
        fits
    }

    /// Senders whose queues are there at a host, and this one.
    pub(crate) fn contenders(&self, host: u32, owner: Owner, slot: u32) -> u32 {
        self.cards[host as usize].senders + u32::from(!self.lined_up(owner, slot))
    }

    /// Whether a half has a queue.
    fn lined_up(&self, owner: Owner, slot: u32) -> bool {
        self.queues.get(slot as usize).is_some_and(|queue| queue.owner == owner)
    }

    /// Whether a sender whose packets are made at their turn has its turn now. If not, it lines up, if it has not: returns
    /// where it is, and whether the card has no time of its next turn yet.
    #[inline]
    pub(crate) fn turn(&mut self, host: u32, owner: Owner, slot: u32) -> Result<(), (u32, bool)> {
        if let Some(queue) = self.queues.get_mut(slot as usize).filter(|queue| queue.owner == owner) {
            if queue.called {
                return Ok(());
            }
            queue.wants_room = true;
            return Err((slot, false));
        }
        let (first, last) = (PacketId::NONE, PacketId::NONE);
        Err(self.begin_queue(
            host,
            Waiting {
                owner,
                first,
                last,
                bytes: 0,
                packets: 0,
                credit: 0,
                next: NONE,
                wants_room: true,
                called: false,
            },
        ))
    }

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

    /// Whether packets of a half wait.
    pub(crate) fn waits(&self, owner: Owner, slot: u32) -> bool {
        self.queues.get(slot as usize).is_some_and(|queue| queue.owner == owner && queue.packets > 0)
    }

    /// Lets a packet wait behind those of its owner, whose queue was `slot` when it waited last. Returns where it is now,
    /// and whether the card has no time of its next turn yet.
    pub(crate) fn wait(
        &mut self,
        host: u32,
        owner: Owner,
        slot: u32,
        packet: Arrived,
        now_ps: u64,
    ) -> (u32, bool) {
        let Arrived { id, frame_bytes } = packet;
        if self.behind.len() <= id.slot() {
            self.behind.resize((id.slot() + 1).next_power_of_two().max(1024), PacketId::NONE);
        }
        self.behind[id.slot()] = PacketId::NONE;
        let card = &mut self.cards[host as usize];
        card.waiting_bytes += u64::from(frame_bytes);
        card.waiting_byte_ps = card.waiting_byte_ps.wrapping_sub(area(frame_bytes, now_ps));
        if let Some(queue) = self.queues.get_mut(slot as usize).filter(|queue| queue.owner == owner) {
            if queue.packets == 0 {
                queue.first = id;
            } else {
                self.behind[queue.last.slot()] = id;
            }
            queue.last = id;
            queue.bytes += frame_bytes;
            queue.packets += 1;
            queue.called = false;
            return (slot, false);
        }
        let queue = Waiting {
            owner,
            first: id,
            last: id,
            bytes: frame_bytes,
            packets: 1,
            credit: 0,
            next: NONE,
            wants_room: false,
            called: false,
        };
        self.begin_queue(host, queue)
    }

    /// Puts a queue at the end of the line. Returns where it is, and whether the card has no time of its next turn yet.
    fn begin_queue(&mut self, host: u32, queue: Waiting) -> (u32, bool) {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.queues[slot as usize] = queue;
                slot
            }
            None => {
                self.queues.push(queue);
                self.queues.len() as u32 - 1
            }
        };
        let card = &mut self.cards[host as usize];
        let wakes = card.first == NONE && !card.serving;
        card.senders += u32::from(matches!(queue.owner, Owner::Sender(_)));
        self.line_up(host, slot);
        (slot, wakes)
    }

    /// The host's own queue, as it was when a packet waited there last.
    pub(crate) fn own(&mut self, host: u32) -> &mut u32 {
        &mut self.cards[host as usize].own
    }

    fn line_up(&mut self, host: u32, slot: u32) {
        let card = &mut self.cards[host as usize];
        match card.last {
            NONE => card.first = slot,
            last => self.queues[last as usize].next = slot,
        }
        card.last = slot;
        self.queues[slot as usize].next = NONE;
    }

    /// Whether a packet is chosen only when the port is free for it.
    #[inline(always)]
    pub(crate) fn one_at_a_time(&self) -> bool {
        self.ahead_bytes == 0
    }

    /// Bytes of a full frame.
    pub(crate) fn frame_bytes(&self) -> u32 {
        self.frame_bytes
    }

    /// The packet in front of the queue whose turn is next, none if it is yet to be made; nothing if nobody waits.
    pub(crate) fn front(&self, host: u32) -> Option<Option<PacketId>> {
        let queue = self.queues.get(self.cards[host as usize].first as usize)?;
        Some((queue.packets > 0).then_some(queue.first))
    }

    /// Takes the queue whose turn is next out of the line until its class of data goes on.
    pub(crate) fn park(&mut self, host: u32, class: usize) {
        if self.parked.is_empty() {
            self.parked = vec![[Parked::NOBODY; 2]; self.cards.len()];
        }
        let card = &mut self.cards[host as usize];
        let slot = card.first;
        card.first = self.queues[slot as usize].next;
        if card.first == NONE {
            card.last = NONE;
        }
        let parked = &mut self.parked[host as usize][class & 1];
        match parked.last {
            NONE => parked.first = slot,
            last => self.queues[last as usize].next = slot,
        }
        parked.last = slot;
        self.queues[slot as usize].next = NONE;
    }

    /// Whether queues wait for a class of data to go on.
    pub(crate) fn has_parked(&self, host: u32, class: usize) -> bool {
        self.parked.get(host as usize).is_some_and(|parked| parked[class & 1].first != NONE)
    }

    /// Lets the queues of a class of data line up again; says whether there were any.
    pub(crate) fn unpark(&mut self, host: u32, class: usize) -> bool {
        if !self.has_parked(host, class) {
            return false;
        }
        let parked = std::mem::replace(&mut self.parked[host as usize][class & 1], Parked::NOBODY);
        let card = &mut self.cards[host as usize];
        match card.last {
            NONE => card.first = parked.first,
            last => self.queues[last as usize].next = parked.first,
        }
        card.last = parked.last;
        true
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

    /// Bytes of frames that wait in a card.
    pub(crate) fn waiting_bytes(&self, host: u32) -> u64 {
        self.cards[host as usize].waiting_bytes
    }

    /// Ends an interval: the integral of the waiting bytes over it, in byte-picoseconds.
    pub(crate) fn end_interval(&mut self, host: u32, now_ps: u64) -> u128 {
        let card = &mut self.cards[host as usize];
        let until_now = u128::from(card.waiting_bytes) * u128::from(now_ps);
        let integral = card.waiting_byte_ps.wrapping_add(until_now);
        card.waiting_byte_ps = 0u128.wrapping_sub(until_now);
        integral
    }
}

/// A packet that is to wait.
#[derive(Clone, Copy)]
pub(crate) struct Arrived {
    pub(crate) id: PacketId,
    pub(crate) frame_bytes: u32,
}

fn area(bytes: u32, at_ps: u64) -> u128 {
    u128::from(bytes) * u128::from(at_ps)
}
