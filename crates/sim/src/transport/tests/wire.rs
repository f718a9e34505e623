//! A wire between the two halves of one connection: a delay each way, and a fate for each packet.

use crate::transport::{Host, Receiver, ReceivingHalf, Sender, SendingHalf, Tcp};
use crate::{Framing, Kind, Packet};
use std::collections::BTreeMap;

/// Fate of a packet on its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Arrives,
    /// With further bits of [`crate::marks`].
    Marked(u8),
    Lost,
    /// So much later, in picoseconds.
    Late(u64),
    /// Once at once, and once more so much later.
    Twice(u64),
}

/// Requests to a host in one call.
#[derive(Default)]
struct Asked {
    now_ps: u64,
    packets: Vec<Packet>,
    wake_ps: Option<u64>,
}

impl Host for Asked {
    fn now_ps(&self) -> u64 {
        self.now_ps
    }
    fn send(&mut self, packet: Packet) {
        self.packets.push(packet);
    }
    fn wake_at(&mut self, at_ps: u64) {
        assert!(at_ps >= self.now_ps, "a wake-up in the past");
        self.wake_ps = Some(self.wake_ps.map_or(at_ps, |wish| wish.min(at_ps)));
    }
}

enum Event {
    Arrives(Packet),
    WakeSender,
    WakeReceiver,
}

/// A connection. Time is in picoseconds; a packet takes `delay_ps` and no time to be sent.
pub(super) struct Wire<F> {
    pub(super) tcp: Tcp,
    pub(super) framing: Framing,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) delay_ps: u64,
    pub(super) now_ps: u64,
    /// Every packet sent, with its time.
    pub(super) log: Vec<(u64, Packet)>,
    /// When which byte count was delivered.
    pub(super) deliveries: Vec<(u64, u64)>,
    /// Window after each acknowledgement.
    pub(super) windows: Vec<(u64, u64)>,
    fate: F,
    events: BTreeMap<(u64, u64), Event>,
    count: u64,
    wishes_ps: [Option<u64>; 2],
}

pub(super) const US: u64 = 1_000_000;
pub(super) const MS: u64 = 1_000 * US;
pub(super) const MSS: u64 = 1448;

impl<F: FnMut(&Packet) -> Fate> Wire<F> {
    /// A round trip of 100 us.
    pub(super) fn new(tcp: Tcp, fate: F) -> Self {
        Self {
            tcp,
            framing: Framing::ETHERNET,
            sender: Sender::new(),
            receiver: Receiver::new(),
            delay_ps: 50 * US,
            now_ps: 0,
            log: Vec::new(),
            deliveries: vec![(0, 0)],
            windows: Vec::new(),
            fate,
            events: BTreeMap::new(),
            count: 0,
            wishes_ps: [None; 2],
        }
    }

    fn at(&mut self, time_ps: u64, event: Event) {
        self.count += 1;
        self.events.insert((time_ps, self.count), event);
    }

    fn do_what_was_asked(&mut self, asked: Asked, half: usize) {
        for packet in asked.packets {
            assert!(packet.frame_bytes == self.framing.frame_bytes(packet.payload_bytes));
            self.log.push((self.now_ps, packet));
            let arrival_ps = self.now_ps + self.delay_ps;
            match (self.fate)(&packet) {
                Fate::Arrives => self.at(arrival_ps, Event::Arrives(packet)),
                Fate::Marked(bits) => {
                    let marked = Packet { marks: packet.marks | bits, ..packet };
                    self.at(arrival_ps, Event::Arrives(marked));
                }
                Fate::Lost => {}
                Fate::Late(by_ps) => self.at(arrival_ps + by_ps, Event::Arrives(packet)),
                Fate::Twice(by_ps) => {
                    self.at(arrival_ps, Event::Arrives(packet));
                    self.at(arrival_ps + by_ps, Event::Arrives(packet));
                }
            }
        }
        // Only the earliest wish is kept.
        if let Some(wish) = asked.wake_ps
            && self.wishes_ps[half].is_none_or(|kept| wish < kept)
        {
            self.wishes_ps[half] = Some(wish);
            self.at(wish, if half == 0 { Event::WakeSender } else { Event::WakeReceiver });
        }
    }

    /// Opens, and writes the stream's first bytes.
    pub(super) fn start(&mut self, bytes: u64) {
        let mut asked = Asked { now_ps: self.now_ps, ..Asked::default() };
        self.sender.open(&self.tcp, self.framing, &mut asked);
        self.sender.write(&self.tcp, self.framing, bytes, &mut asked);
        self.do_what_was_asked(asked, 0);
    }

    /// Writes more.
    pub(super) fn write(&mut self, bytes: u64) {
        let mut asked = Asked { now_ps: self.now_ps, ..Asked::default() };
        self.sender.write(&self.tcp, self.framing, bytes, &mut asked);
        self.do_what_was_asked(asked, 0);
    }

    /// The receiver takes a packet that the sender did not send.
    pub(super) fn take(&mut self, packet: &Packet) {
        self.answers_to(packet);
    }

    /// The receiver's answers to a packet that the sender did not send.
    pub(super) fn answers_to(&mut self, packet: &Packet) -> Vec<Packet> {
        let mut asked = Asked { now_ps: self.now_ps, ..Asked::default() };
        self.receiver.receive(&self.tcp, self.framing, packet, || true, &mut asked);
        asked.packets
    }

    /// One event; false if there is none before `end_ps`.
    pub(super) fn step(&mut self, end_ps: u64) -> bool {
        let Some(entry) = self.events.first_entry() else { return false };
        let time_ps = entry.key().0;
        if time_ps > end_ps {
            return false;
        }
        let event = entry.remove();
        assert!(time_ps >= self.now_ps);
        self.now_ps = time_ps;
        let mut asked = Asked { now_ps: time_ps, ..Asked::default() };
        let half = match event {
            Event::Arrives(packet) if matches!(packet.kind, Kind::Data | Kind::Syn) => {
                self.receiver.receive(&self.tcp, self.framing, &packet, || true, &mut asked);
                1
            }
            Event::Arrives(packet) => {
                self.sender.receive(&self.tcp, self.framing, &packet, &mut asked);
                self.windows.push((time_ps, self.sender.window_bytes()));
                0
            }
            Event::WakeSender | Event::WakeReceiver => {
                let half = usize::from(matches!(event, Event::WakeReceiver));
                if self.wishes_ps[half] == Some(time_ps) {
                    self.wishes_ps[half] = None;
                    match half {
                        0 => self.sender.wake(&self.tcp, self.framing, &mut asked),
                        _ => self.receiver.wake(&self.tcp, self.framing, &mut asked),
                    }
                }
                half
            }
        };
        self.do_what_was_asked(asked, half);
        let delivered = self.receiver.delivered();
        if self.deliveries.last().is_some_and(|&(_, last)| last < delivered) {
            self.deliveries.push((self.now_ps, delivered));
        }
        true
    }

    /// Until nothing more happens.
    pub(super) fn run(&mut self) {
        while self.step(u64::MAX) {}
    }

    /// All that happens by `end_ps`, which it is afterwards.
    pub(super) fn run_until(&mut self, end_ps: u64) {
        while self.step(end_ps) {}
        self.now_ps = end_ps;
    }

    /// When so many bytes were delivered.
    pub(super) fn delivered_at(&self, bytes: u64) -> u64 {
        self.deliveries.iter().find(|&&(_, delivered)| delivered >= bytes).unwrap().0
    }

    /// Data packets sent: time, first byte in segments, marks.
    pub(super) fn data(&self) -> impl Iterator<Item = &(u64, Packet)> {
        self.log.iter().filter(|(_, packet)| packet.kind == Kind::Data)
    }

    /// Acknowledgements sent.
    pub(super) fn acks(&self) -> impl Iterator<Item = &(u64, Packet)> {
        self.log.iter().filter(|(_, packet)| packet.kind == Kind::Ack)
    }

    /// Data packets sent at each time, in round trips of 100 us.
    pub(super) fn data_by_round(&self) -> Vec<u64> {
        let mut rounds = Vec::new();
        for (time_ps, _) in self.data() {
            let round = (time_ps / (100 * US)) as usize;
            rounds.resize(rounds.len().max(round + 1), 0);
            rounds[round] += 1;
        }
        rounds
    }
}
