//! Queues of one port, a queue for each class, and which of them is served next.
//!
//! They stand before the port's line ([`crate::port::EgressPort`]), which is given one frame at a time and knows when that
//! is sent and when it arrives.

use crate::Class;
use crate::queue::NEVER_PS;
use crate::slab::PacketId;
use anabranch_fabric::{CLASSES, Service, SwitchSettings};
use std::collections::VecDeque;

/// The queue of pause frames, which overtake everything (IEEE 802.1Qbb: the MAC sends them by itself).
pub(crate) const PAUSES: usize = CLASSES;

/// Bit of a queue in a set of queues.
const fn bit(queue: usize) -> u8 {
    1 << queue
}

/// A frame that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) id: PacketId,
    /// Port whose link it came in by; [`NOWHERE`] if it is not counted in a shared buffer.
    pub(crate) ingress: u32,
    pub(crate) frame_bytes: u16,
}

/// No ingress.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// A frame in service.
#[derive(Clone, Copy)]
pub(crate) struct Serving {
    pub(crate) id: PacketId,
    pub(crate) frame_bytes: u16,
    pub(crate) queue: u8,
}

/// Queues of one port. What every frame touches comes first.
#[repr(C, align(64))]
pub(crate) struct Queues {
    /// Queues with frames, and queues that are paused.
    filled: u8,
    paused: u8,
    /// Classes of which frames wait elsewhere, in the host's card, until they are not paused.
    awaited: u8,
    /// The frame whose transmission has not been accounted for yet.
    pub(crate) serving: Option<Serving>,
    /// Event that the port shows.
    pub(crate) leaf_ps: u64,
    waiting_bytes: u64,
    /// Waiting bytes of each queue, the frame in service included.
    bytes: [u64; CLASSES + 1],
    /// Integral of the waiting bytes: each frame's bytes times when it left, less when it came.
    waiting_byte_ps: u128,
    /// Service that each weighted class had, by its weight (start-time fair queueing, Goyal et al. 1996), and the most
    /// that a class had when it was served last.
    clock: f64,
    served: [f64; CLASSES],
    queues: [VecDeque<Waiting>; CLASSES + 1],
    /// When each pause lapses, and when it began.
    lapse_ps: [u64; CLASSES],
    began_ps: [u64; CLASSES],
    paused_ps: u64,
    /// In this interval: frames trimmed, pause frames sent.
    pub(crate) trimmed_packets: u64,
    pub(crate) pauses_sent: u64,
}

impl Queues {
    pub(crate) fn new() -> Self {
        Self {
            queues: Default::default(),
            bytes: [0; CLASSES + 1],
            filled: 0,
            paused: 0,
            awaited: 0,
            lapse_ps: [0; CLASSES],
            began_ps: [0; CLASSES],
            paused_ps: 0,
            served: [0.0; CLASSES],
            clock: 0.0,
            serving: None,
            leaf_ps: NEVER_PS,
            waiting_bytes: 0,
            waiting_byte_ps: 0,
            trimmed_packets: 0,
            pauses_sent: 0,
        }
    }

    /// Backlog of a queue in bytes, the frame in service included.
    #[inline(always)]
    pub(crate) fn bytes(&self, queue: usize) -> u64 {
        self.bytes[queue]
    }

    /// Backlog of a queue in frames, the one in service included.
    #[inline(always)]
    pub(crate) fn packets(&self, queue: usize) -> u32 {
        let serving = self.serving.is_some_and(|serving| usize::from(serving.queue) == queue);
        self.queues[queue].len() as u32 + u32::from(serving)
    }

    /// Whether more of a class may come from the host's card, if no more than so many bytes of it may be here.
    #[inline(always)]
    pub(crate) fn takes(&self, queue: usize, most_bytes: u32) -> bool {
        !self.is_paused(queue) && self.bytes[queue] <= most_bytes.into()
    }

    /// Bytes that wait for service.
    pub(crate) fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// Whether a frame could be served now that is not paused.
    #[inline(always)]
    pub(crate) fn has_ready(&self) -> bool {
        self.filled & !self.paused != 0
    }

    /// Whether a class is paused.
    #[inline(always)]
    pub(crate) fn is_paused(&self, queue: usize) -> bool {
        self.paused & bit(queue) != 0
    }

    /// Waiting frames of a queue.
    pub(crate) fn waiting(&self, queue: usize) -> impl Iterator<Item = &Waiting> {
        self.queues[queue].iter()
    }

    /// Lets a frame wait.
    #[inline]
    pub(crate) fn push(&mut self, queue: usize, frame: Waiting, now_ps: u64) {
        if self.queues[queue].is_empty() {
            self.filled |= bit(queue);
            self.catch_up(queue);
        }
        self.queues[queue].push_back(frame);
        self.bytes[queue] += u64::from(frame.frame_bytes);
        self.waiting_bytes += u64::from(frame.frame_bytes);
        self.waiting_byte_ps = self.waiting_byte_ps.wrapping_sub(area(frame.frame_bytes, now_ps));
    }

    /// Takes the frame out that came last and waits.
    pub(crate) fn take_newest(&mut self, queue: usize, now_ps: u64) -> Option<Waiting> {
        let frame = self.queues[queue].pop_back()?;
        self.bytes[queue] -= u64::from(frame.frame_bytes);
        self.leave(queue, frame, now_ps);
        Some(frame)
    }

    fn leave(&mut self, queue: usize, frame: Waiting, now_ps: u64) {
        if self.queues[queue].is_empty() {
            self.filled &= !bit(queue);
        }
        self.waiting_bytes -= u64::from(frame.frame_bytes);
        self.waiting_byte_ps = self.waiting_byte_ps.wrapping_add(area(frame.frame_bytes, now_ps));
    }

    /// A class that had nothing to send, or was paused, has no claim to what others got meanwhile.
    fn catch_up(&mut self, queue: usize) {
        if queue < CLASSES {
            self.served[queue] = self.served[queue].max(self.clock);
        }
    }

    /// Queue whose turn it is: pauses, then strict classes in their order, then the weighted class that had least for its
    /// weight.
    #[inline]
    fn turn(&self, settings: &SwitchSettings) -> Option<usize> {
        let ready = self.filled & !self.paused;
        if ready & bit(PAUSES) != 0 {
            return Some(PAUSES);
        }
        let mut least: Option<usize> = None;
        for queue in (0..CLASSES).filter(|&queue| ready & bit(queue) != 0) {
            match settings.classes[queue].service {
                Service::Strict => return Some(queue),
                Service::Weighted(_) if least.is_none_or(|other| self.served[queue] < self.served[other]) => {
                    least = Some(queue);
                }
                Service::Weighted(_) => {}
            }
        }
        least
    }

    /// Begins the service of the next frame, if one may be served; it is accounted for by [`Self::complete`].
    #[inline]
    pub(crate) fn begin(&mut self, settings: &SwitchSettings, now_ps: u64) -> Option<(usize, Waiting)> {
        let ready = self.filled & !self.paused;
        // Nearly always a single class waits.
        let queue =
            if ready.is_power_of_two() { ready.trailing_zeros() as usize } else { self.turn(settings)? };
        let frame = self.queues[queue].pop_front()?;
        self.leave(queue, frame, now_ps);
        self.serve(queue, frame, settings);
        Some((queue, frame))
    }

    /// Begins the service of a frame that comes now and need not wait.
    #[inline]
    pub(crate) fn begin_at_once(&mut self, queue: usize, frame: Waiting, settings: &SwitchSettings) {
        self.catch_up(queue);
        self.bytes[queue] += u64::from(frame.frame_bytes);
        self.serve(queue, frame, settings);
    }

    #[inline]
    fn serve(&mut self, queue: usize, frame: Waiting, settings: &SwitchSettings) {
        if queue < CLASSES
            && let Service::Weighted(weight) = settings.classes[queue].service
        {
            self.clock = self.served[queue];
            self.served[queue] += f64::from(frame.frame_bytes) / weight;
        }
        self.serving = Some(Serving { id: frame.id, frame_bytes: frame.frame_bytes, queue: queue as u8 });
    }

    /// The frame in service has been sent.
    #[inline(always)]
    pub(crate) fn complete(&mut self) -> Option<Serving> {
        let serving = self.serving.take()?;
        self.bytes[usize::from(serving.queue)] -= u64::from(serving.frame_bytes);
        Some(serving)
    }

    /// When the port can serve next: when the line is free, or a pause lapses after that; [`NEVER_PS`] if nothing waits.
    #[inline(always)]
    pub(crate) fn service_ps(&self, free_ps: u64) -> u64 {
        if self.has_ready() {
            return free_ps;
        }
        if self.paused & (self.filled | self.awaited) == 0 { NEVER_PS } else { self.first_lapse_ps(free_ps) }
    }

    #[cold]
    fn first_lapse_ps(&self, free_ps: u64) -> u64 {
        let stopped = self.paused & (self.filled | self.awaited);
        let lapses =
            (0..CLASSES).filter(|&queue| stopped & bit(queue) != 0).map(|queue| self.lapse_ps[queue]);
        lapses.min().map_or(NEVER_PS, |lapse_ps| lapse_ps.max(free_ps))
    }

    /// Pauses a class until a time.
    pub(crate) fn pause(&mut self, class: Class, now_ps: u64, until_ps: u64) {
        let queue = class as usize;
        if !self.is_paused(queue) {
            self.began_ps[queue] = now_ps;
            self.paused |= bit(queue);
        }
        self.lapse_ps[queue] = until_ps;
    }

    /// Lets a class go on.
    pub(crate) fn resume(&mut self, class: Class, now_ps: u64) {
        let queue = class as usize;
        if self.is_paused(queue) {
            self.paused_ps += now_ps.min(self.lapse_ps[queue]).saturating_sub(self.began_ps[queue]);
            self.paused &= !bit(queue);
            self.catch_up(queue);
        }
    }

    /// Ends pauses that have lapsed.
    #[inline(always)]
    pub(crate) fn lapse(&mut self, now_ps: u64) {
        if self.paused != 0 {
            for class in Class::ALL {
                if self.is_paused(class as usize) && self.lapse_ps[class as usize] <= now_ps {
                    self.resume(class, now_ps);
                }
            }
        }
    }

    /// Whether frames of a class wait in the host's card for the port.
    pub(crate) fn set_awaited(&mut self, queue: usize, awaited: bool) {
        self.awaited = self.awaited & !bit(queue) | u8::from(awaited) << queue;
    }

    /// Takes all waiting frames out, with their queues: the port died. Pauses end with it.
    pub(crate) fn drain(&mut self, now_ps: u64) -> Vec<(usize, Waiting)> {
        let mut drained = Vec::new();
        for queue in 0..=CLASSES {
            while let Some(frame) = self.queues[queue].pop_front() {
                self.bytes[queue] -= u64::from(frame.frame_bytes);
                self.leave(queue, frame, now_ps);
                drained.push((queue, frame));
            }
        }
        self.complete();
        for class in Class::ALL {
            self.resume(class, now_ps);
        }
        drained
    }

    /// Ends an interval: the integral of the waiting bytes over it, in byte-picoseconds, and the time paused, in
    /// picoseconds, each class counted by itself.
    pub(crate) fn end_interval(&mut self, now_ps: u64) -> (u128, u64) {
        let until_now = u128::from(self.waiting_bytes) * u128::from(now_ps);
        let integral = self.waiting_byte_ps.wrapping_add(until_now);
        self.waiting_byte_ps = 0u128.wrapping_sub(until_now);
        self.lapse(now_ps);
        for queue in (0..CLASSES).filter(|&queue| self.paused & bit(queue) != 0) {
            self.paused_ps += now_ps - self.began_ps[queue];
            self.began_ps[queue] = now_ps;
        }
        (integral, std::mem::take(&mut self.paused_ps))
    }
}

fn area(bytes: u16, at_ps: u64) -> u128 {
    u128::from(bytes) * u128::from(at_ps)
}
