//! Network cards that serve the connections of their host in turn.
//!
//! A card stands before its host's port. While nobody waits, a packet goes to the port as long as the port is busy for
//! no more than some full frames; otherwise it waits in a queue of its half of a connection. The card takes from those
//! queues in turn (deficit round robin), some full frames at a time, whenever the port has sent what it was given.
//!
//! An RDMA card calls senders in turn, one whenever its port is free, and only then does the sender make a packet, so that
//! windows, rates and round trips are those of the time at which it leaves. Answers wait as packets.

mod parking;
mod turns;

pub(crate) use turns::Turn;

use crate::nic::Queueing;
use crate::queue::EventQueue;
use crate::slab::PacketId;
use anabranch_fabric::Buffer;
use parking::Parked;

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
