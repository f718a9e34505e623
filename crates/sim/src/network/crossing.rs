//! Packets that cross from one part of the fabric to another: posted when they are accepted, taken in when the parts meet.

use super::{Network, source};
use crate::Packet;
use crate::cut::Cut;
use crate::flow_record::Fate;
use crate::port::Verdict;
use crate::queue::NEVER_PS;
use crate::slab::PacketId;
use std::sync::Arc;

/// Note of one part to another about a port whose link crosses.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Letter {
    /// A packet was accepted, and arrives at a time.
    Packet { port: u32, arrive_ps: u64, packet: Packet },
    /// The packet that was accepted last lost its slot to another.
    TakeBack { port: u32 },
    /// All packets on the way are gone, or timed anew in letters that follow.
    Clear { port: u32 },
}

/// One part's view of the cut, and its letters to the others.
pub(crate) struct Crossing {
    cut: Arc<Cut>,
    /// Part at the other end of each port's link, if it crosses.
    towards: Box<[Option<u32>]>,
    /// The part itself.
    pub(crate) part: u32,
    /// Letters to each part since the last meeting.
    pub(crate) letters: Vec<Vec<Letter>>,
    /// Key of the earliest arrival that was posted since the last meeting.
    pub(crate) earliest: u64,
    /// Packets that stand in this part's rings of ports that cross: each is one of the other end's too.
    copies: usize,
    /// Packets that the other ends do not know of yet; less than none if they have some yet that are lost.
    posted: i64,
    /// Key of the present event, or of the last one of a port at this time if that was later: it never falls.
    pub(crate) position: u64,
}

impl Crossing {
    fn new(cut: Arc<Cut>, part: u32, ports: usize) -> Self {
        let letters = (0..cut.parts()).map(|_| Vec::new()).collect();
        let towards = (0..ports as u32).map(|port| cut.crosses_to(port)).collect();
        Self { cut, towards, part, letters, earliest: u64::MAX, copies: 0, posted: 0, position: 0 }
    }

    /// Part at the other end of a port's link, if it crosses.
    #[inline(always)]
    pub(super) fn towards(&self, port: u32) -> Option<u32> {
        self.towards[port as usize]
    }

    /// Whether a node is in this part.
    fn has_node(&self, node: u32) -> bool {
        self.cut.part_of(node) == self.part
    }
}

impl Crossing {
    /// Takes the letters of a meeting, by part.
    pub(crate) fn take_letters(&mut self) -> Vec<Vec<Letter>> {
        (self.earliest, self.posted) = (u64::MAX, 0);
        std::mem::take(&mut self.letters)
    }
}

/// Role of a part at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It has the port's node.
    Sender,
    /// It has the other end of a link that crosses.
    Receiver,
    /// It has neither.
    Stranger,
}

impl Network {
    /// Makes this the network of one part.
    pub(crate) fn set_part(&mut self, cut: Arc<Cut>, part: u32) {
        self.crossing = Some(Box::new(Crossing::new(cut, part, self.ports.len())));
        self.watched = true;
    }

    /// Role at a port: the sender's where the fabric is whole.
    pub(crate) fn role_at(&self, port: u32) -> Role {
        match &self.crossing {
            None => Role::Sender,
            Some(crossing) if crossing.cut.part_of_port(port) == crossing.part => Role::Sender,
            Some(crossing) if crossing.towards(port) == Some(crossing.part) => Role::Receiver,
            Some(_) => Role::Stranger,
        }
    }

    /// Whether a node is simulated here.
    pub(crate) fn has_node(&self, node: u32) -> bool {
        self.crossing.as_ref().is_none_or(|crossing| crossing.has_node(node))
    }

    /// Whether this is the whole fabric, or the first of its parts.
    pub(crate) fn is_first_part(&self) -> bool {
        self.crossing.as_ref().is_none_or(|crossing| crossing.part == 0)
    }

    /// Packets that this part alone has, or has posted: those of all parts together are what is in the fabric. Of one part they may
    /// be less than none, while another counts some that are lost.
    pub(crate) fn packets_here(&self) -> i64 {
        let apart = self.crossing.as_ref().map_or(0, |crossing| crossing.posted - crossing.copies as i64);
        self.packets.len() as i64 + apart
    }

    /// Offers a packet to a port whose link crosses to another part.
    #[inline(never)]
    pub(super) fn offer_across<const HOST: bool>(&mut self, port: u32, id: PacketId, towards: u32) {
        self.take_arrived(port);
        let packet = self.packets.get(id);
        let egress = &mut self.ports[port as usize];
        let verdict = egress.enqueue::<HOST>(self.now_ps, id, packet);
        let (arrive_ps, packet) = match verdict {
            Verdict::Next(_) | Verdict::Queued | Verdict::Displaced(_) => {
                (egress.newest_arrival_ps(), *packet)
            }
            Verdict::Dropped => return self.discard(id, Fate::Dropped, Some(port)),
            Verdict::Lost => return self.discard(id, Fate::Lost, Some(port)),
        };
        let key = self.queue.key_of(source::PORTS + port as usize, arrive_ps);
        let Some(crossing) = &mut self.crossing else { return };
        crossing.copies += 1;
        crossing.posted += 1;
        crossing.earliest = crossing.earliest.min(key);
        let letters = &mut crossing.letters[towards as usize];
        if let Verdict::Displaced(last) = verdict {
            crossing.copies -= 1;
            crossing.posted -= 1;
            letters.push(Letter::TakeBack { port });
            letters.push(Letter::Packet { port, arrive_ps, packet });
            self.discard(last, Fate::Dropped, Some(port));
            return;
        }
        letters.push(Letter::Packet { port, arrive_ps, packet });
    }

    /// Frees what has reached the other end of a port's link, if it crosses: it is simulated there.
    pub(crate) fn take_arrived(&mut self, port: u32) {
        if self.crossing.as_ref().is_none_or(|crossing| crossing.towards(port).is_none()) {
            return;
        }
        while let Some(id) = self.ports[port as usize].take_arrived(self.now_ps) {
            self.packets.free(id);
            if let Some(crossing) = &mut self.crossing {
                crossing.copies -= 1;
            }
        }
    }

    /// Packets of a port were timed anew, the next one to arrive at a time, or `lost`.
    pub(crate) fn time_arrivals(&mut self, port: u32, arrive_ps: u64, lost: usize) {
        let towards = self.crossing.as_ref().and_then(|crossing| crossing.towards(port));
        let (Some(crossing), Some(towards)) = (&mut self.crossing, towards) else {
            return self.set_arrival(port, arrive_ps);
        };
        crossing.copies -= lost;
        crossing.posted -= lost as i64;
        let letters = &mut crossing.letters[towards as usize];
        letters.push(Letter::Clear { port });
        for (id, arrive_ps) in self.ports[port as usize].coming_arrivals() {
            let key = self.queue.key_of(source::PORTS + port as usize, arrive_ps);
            crossing.earliest = crossing.earliest.min(key);
            letters.push(Letter::Packet { port, arrive_ps, packet: *self.packets.get(id) });
        }
    }

    /// Takes in a letter.
    ///
    /// # Panics
    /// A packet that arrives before now: the look-ahead was wrong.
    pub(crate) fn take_in(&mut self, letter: Letter) {
        match letter {
            Letter::Packet { port, arrive_ps, packet } => {
                assert!(arrive_ps >= self.now_ps, "a packet of another part comes in time");
                let frame_bytes = packet.frame_bytes;
                let id = self.packets.insert(packet);
                if self.ports[port as usize].follow(arrive_ps, id, frame_bytes) {
                    self.queue.insert(source::PORTS + port as usize, arrive_ps);
                }
            }
            Letter::TakeBack { port } => self.take_back(port),
            Letter::Clear { port } => {
                while self.ports[port as usize].coming(0).is_some() {
                    self.take_back(port);
                }
            }
        }
    }

    fn take_back(&mut self, port: u32) {
        let (id, is_left) = self.ports[port as usize].take_back();
        self.packets.free(id);
        if !is_left {
            self.queue.set(source::PORTS + port as usize, NEVER_PS);
        }
    }
}
