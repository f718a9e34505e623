//! Packets that cross from one part of the fabric to another: posted when they are accepted, taken in when the parts meet.

use super::{Network, source};
use crate::Packet;
use crate::cut::Cut;
use crate::flow_record::Fate;
use crate::port::Verdict;
use crate::queue::NEVER_PS;
use crate::slab::PacketId;
use crate::telemetry::Carried;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Note of one part to another about a port whose link crosses.
pub(crate) enum Letter {
    /// A packet was accepted, and arrives at a time, with what it carries of telemetry, if any does.
    Packet { port: u32, arrive_ps: u64, packet: Packet, carried: Option<Box<Carried>> },
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
    /// Ports with classes that cross and are sending a frame, in order.
    serving: BTreeSet<u32>,
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
        Self {
            cut,
            towards,
            part,
            letters,
            earliest: u64::MAX,
            serving: BTreeSet::new(),
            copies: 0,
            posted: 0,
            position: 0,
        }
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
    /// Posts a packet, and what it carries of telemetry, that arrives at the other end of a port's link.
    fn post(
        &mut self,
        port: u32,
        towards: u32,
        (key, arrive_ps): (u64, u64),
        (packet, carried): (Packet, Option<Box<Carried>>),
    ) {
        self.copies += 1;
        self.posted += 1;
        self.earliest = self.earliest.min(key);
        self.letters[towards as usize].push(Letter::Packet { port, arrive_ps, packet, carried });
    }

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

    /// Whether a port's node is simulated here.
    pub(crate) fn has_port(&self, port: u32) -> bool {
        self.role_at(port) == Role::Sender
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

    /// Offers a packet to a port whose link crosses to another part; says whether it took it.
    #[inline(never)]
    pub(super) fn offer_across<const HOST: bool>(&mut self, port: u32, id: PacketId, towards: u32) -> bool {
        self.take_arrived(port);
        let packet = self.packets.get(id);
        let egress = &mut self.ports[port as usize];
        let verdict = egress.enqueue::<HOST>(self.now_ps, id, packet);
        let (arrive_ps, packet) = match verdict {
            Verdict::Next(_) | Verdict::Queued | Verdict::Displaced(_) => {
                (egress.newest_arrival_ps(), *packet)
            }
            Verdict::Dropped => {
                self.discard(id, Fate::Dropped, Some(port));
                return false;
            }
            Verdict::Lost => {
                self.discard(id, Fate::Lost, Some(port));
                return false;
            }
        };
        let key = self.queue.key_of(source::PORTS + port as usize, arrive_ps);
        let Some(crossing) = &mut self.crossing else { return false };
        let displaced = if let Verdict::Displaced(last) = verdict { Some(last) } else { None };
        if displaced.is_some() {
            crossing.copies -= 1;
            crossing.posted -= 1;
            crossing.letters[towards as usize].push(Letter::TakeBack { port });
        }
        // Telemetry is of ports with classes.
        crossing.post(port, towards, (key, arrive_ps), (packet, None));
        if let Some(last) = displaced {
            self.displaced(port, last);
        }
        true
    }

    /// A port with classes begins to send a frame: if its link crosses, the frame is posted when it is sent.
    #[inline]
    pub(super) fn send_across(&mut self, port: u32) {
        if let Some(crossing) = &mut self.crossing
            && crossing.towards(port).is_some()
        {
            crossing.serving.insert(port);
        }
    }

    /// A port with classes has sent a frame, the last that was given to its line: posts it, if the link crosses.
    #[inline]
    pub(super) fn post_sent(&mut self, port: u32, id: PacketId) {
        let Some(crossing) = &mut self.crossing else { return };
        let Some(towards) = crossing.towards(port) else { return };
        let arrive_ps = self.ports[port as usize].newest_arrival_ps();
        let key = self.queue.key_of(source::PORTS + port as usize, arrive_ps);
        let carried = self.telemetry.as_ref().and_then(|telemetry| telemetry.carried(id));
        crossing.serving.remove(&port);
        crossing.post(port, towards, (key, arrive_ps), (*self.packets.get(id), carried));
    }

    /// Posts what ports with classes have sent, all of whose events before a key have happened. Returns the key of the first
    /// end of a frame after that, which is not an event, but must not be passed before it is posted. Until its key the
    /// frame counts as one that waits: hosts that send in the same picosecond see it.
    pub(crate) fn post_until(&mut self, until: u64) -> u64 {
        let Some(crossing) = &self.crossing else { return u64::MAX };
        let mut first = u64::MAX;
        for port in crossing.serving.iter().copied().collect::<Vec<u32>>() {
            let sent = self.queue.key_of(source::PORTS + port as usize, self.ports[port as usize].free_ps());
            if sent < until {
                self.account(port);
            } else {
                first = first.min(sent);
            }
        }
        first
    }

    /// Whether what a port's link carries arrives in another part.
    #[inline(always)]
    pub(super) fn is_sent_across(&self, port: u32) -> bool {
        self.crossing
            .as_ref()
            .is_some_and(|crossing| crossing.towards(port).is_some_and(|towards| towards != crossing.part))
    }

    /// Frees what has reached the other end of a port's link, if it crosses: it is simulated there.
    pub(crate) fn take_arrived(&mut self, port: u32) {
        if !self.is_sent_across(port) {
            return;
        }
        while let Some(id) = self.ports[port as usize].take_arrived(self.now_ps) {
            self.packets.free(id);
            if let Some(crossing) = &mut self.crossing {
                crossing.copies -= 1;
            }
        }
    }

    /// Packets of a port were timed anew, the next one to arrive at a time.
    pub(crate) fn time_arrivals(&mut self, port: u32, arrive_ps: u64) {
        if !self.is_sent_across(port) {
            return self.set_arrival(port, arrive_ps);
        }
        let towards = self.clear(port);
        let unsent = self.serves(port);
        let Some(crossing) = &mut self.crossing else { return };
        let coming: Vec<_> = self.ports[port as usize].coming_arrivals().collect();
        for &(id, arrive_ps) in &coming[..coming.len() - usize::from(unsent)] {
            let key = self.queue.key_of(source::PORTS + port as usize, arrive_ps);
            let carried = self.telemetry.as_ref().and_then(|telemetry| telemetry.carried(id));
            crossing.post(port, towards, (key, arrive_ps), (*self.packets.get(id), carried));
            // The other end knows of it, or will forget it.
            crossing.copies -= 1;
            crossing.posted -= 1;
        }
        if self.classed.is_some() {
            self.set_leaf(port);
        }
    }

    /// All packets of a port are lost, so many of which were on the link.
    pub(crate) fn lose_arrivals(&mut self, port: u32, on_link: usize) {
        if !self.is_sent_across(port) {
            return self.set_arrival(port, NEVER_PS);
        }
        self.clear(port);
        if let Some(crossing) = &mut self.crossing {
            crossing.serving.remove(&port);
            crossing.copies -= on_link;
            crossing.posted -= on_link as i64;
        }
    }

    /// Packets of a port that the other end of its link knows of, or will.
    pub(crate) fn on_link(&self, port: u32) -> usize {
        self.ports[port as usize].coming_arrivals().count() - usize::from(self.serves(port))
    }

    /// Whether a port with classes has a frame that is not sent yet.
    fn serves(&self, port: u32) -> bool {
        self.classed.as_ref().is_some_and(|classed| classed.ports[port as usize].queues.serving.is_some())
    }

    /// Lets the other end of a port's link forget what is on it. Returns its part.
    fn clear(&mut self, port: u32) -> u32 {
        let Some(crossing) = &mut self.crossing else { return 0 };
        let towards = crossing.towards(port).unwrap_or(crossing.part);
        crossing.letters[towards as usize].push(Letter::Clear { port });
        towards
    }

    /// Takes in a letter.
    ///
    /// # Panics
    /// A packet that arrives before now: the look-ahead was wrong.
    pub(crate) fn take_in(&mut self, letter: Letter) {
        match letter {
            Letter::Packet { port, arrive_ps, packet, carried } => {
                assert!(arrive_ps >= self.now_ps, "a packet of another part comes in time");
                let frame_bytes = packet.frame_bytes;
                let id = self.packets.insert(packet);
                if let Some(telemetry) = &mut self.telemetry {
                    telemetry.take_in(id, carried);
                }
                if self.ports[port as usize].follow(arrive_ps, id, frame_bytes) {
                    self.set_arrival(port, arrive_ps);
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
            self.set_arrival(port, NEVER_PS);
        }
    }
}
