//! Ports that tell classes of traffic apart: they decide at the end of each frame what they serve next, so that classes can
//! wait for each other, be paused, be cut and be marked by what they leave behind.
//!
//! Such a port is a [`Queues`] before the line that every port is ([`crate::port::EgressPort`]): the line gets one frame at
//! a time. Its leaf in the queue of events shows the earlier of two: the next frame can be served, or the first one on the
//! line arrives. A port with nothing waiting needs no event for the former, so at light load it costs one event a hop as a
//! FIFO does.

pub(crate) mod deadlock;
mod queues;
mod room;
mod shared_buffer;
#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test may fail, its helpers too.
mod tests;

pub(crate) use queues::{NOWHERE, PAUSES, Waiting};
pub(crate) use room::{Admitted, ClassedPort, trim};
pub(crate) use shared_buffer::Stuck;

use crate::slab::PacketId;
use crate::{Class, Framing, Nic, Packet, Queueing};
use anabranch_fabric::{Buffer, CLASSES, Fabric, FabricError, Marking, Refresh, SwitchSettings};
use anabranch_traffic::random::Stream;
use room::Coins;
use shared_buffer::{Ingress, SharedBuffer};

/// Frames that may come in after a pause was sent, beside what is on the link in both directions: the one that caused it,
/// one that the pause waits for, and one that the other end has begun.
const FRAMES_AFTER_PAUSE: u64 = 3;

/// Bytes of a pause frame.
pub(crate) const PAUSE_BYTES: u16 = 64;

/// All ports with classes, and what their switches share.
pub(crate) struct Classed {
    pub(crate) settings: SwitchSettings,
    pub(crate) ports: Vec<ClassedPort>,
    /// Buffers of switches, from the first switch on. Empty if ports have buffers of their own.
    buffers: Vec<SharedBuffer>,
    /// What came in by each port's link and is still in the buffer, by class.
    ingress: Vec<[Ingress; CLASSES]>,
    /// Port by whose link each packet came to the switch where it is, by slot.
    came_by: Vec<u32>,
    /// Node that sends, and port of the other direction, of each port.
    pub(crate) from: Vec<u32>,
    pub(crate) reverse: Vec<u32>,
    hosts: u32,
    /// Whether any class is lossless.
    pub(crate) pauses: bool,
}

/// An ingress and class that is to be paused or resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PauseFrame {
    pub(crate) ingress: u32,
    pub(crate) class: Class,
    /// Time for which it pauses, in picoseconds; zero to resume.
    pub(crate) quantum_ps: u64,
}

impl Classed {
    /// Queues for the ports of a fabric, if its switches tell classes apart.
    pub(crate) fn of(fabric: &Fabric, framing: Framing, nic: &Nic, seed: u64) -> Option<Box<Self>> {
        let settings = *fabric.switches()?;
        let hosts = fabric.hosts();
        let ports = (0..).zip(fabric.ports()).map(|(index, port)| {
            let (mut buffer, mut marking) = (port.buffer, port.marking);
            if port.from < hosts && nic.queueing != Queueing::Fifo {
                (buffer, marking) = (Buffer::UNLIMITED, Marking::Off);
            }
            ClassedPort::new(buffer, marking, Coins::Drawn(Stream::of_entity(seed, "classes", index)))
        });
        let pauses = settings.shared.is_some() && settings.classes.iter().any(|class| class.lossless);
        let mut classed = Self {
            settings,
            ports: ports.collect(),
            buffers: Vec::new(),
            ingress: vec![[Ingress::default(); CLASSES]; if pauses { fabric.ports().len() } else { 0 }],
            came_by: Vec::new(),
            from: fabric.ports().iter().map(|port| port.from).collect(),
            reverse: fabric.ports().iter().map(|port| port.reverse).collect(),
            hosts,
            pauses,
        };
        if let Some(rules) = settings.shared {
            for node in hosts..fabric.nodes().len() as u32 {
                for &port in fabric.ports_of(node) {
                    let into = fabric.ports()[port as usize].reverse;
                    let headroom = headroom_bytes(fabric, &settings, (framing, nic), into);
                    for (class, treatment) in settings.classes.iter().enumerate() {
                        if treatment.lossless {
                            classed.ingress[into as usize][class].headroom_most = headroom;
                        }
                    }
                }
                let [guaranteed, headroom] = aside_bytes(fabric, &settings, (framing, nic), node);
                let queues_bytes = rules.bytes.saturating_sub(guaranteed);
                let pool_bytes = queues_bytes.saturating_sub(headroom);
                classed.buffers.push(SharedBuffer::new(rules, pool_bytes, queues_bytes));
            }
        }
        Some(Box::new(classed))
    }

    /// Whether a port is a host's.
    #[inline(always)]
    pub(crate) fn at_host(&self, port: u32) -> bool {
        self.from[port as usize] < self.hosts
    }

    /// Whether a port leads to a host.
    pub(crate) fn is_last(&self, port: u32) -> bool {
        self.at_host(self.reverse[port as usize])
    }

    /// Queue of a packet.
    #[inline(always)]
    pub(crate) fn queue_of(packet: &Packet) -> usize {
        if packet.kind == crate::Kind::Pause { PAUSES } else { packet.class() as usize }
    }

    /// A packet came to a switch by the link of a port.
    #[inline(always)]
    pub(crate) fn note_ingress(&mut self, id: PacketId, port: u32) {
        if self.pauses {
            if self.came_by.len() <= id.slot() {
                self.came_by.resize((id.slot() + 1).next_power_of_two().max(1024), NOWHERE);
            }
            self.came_by[id.slot()] = port;
        }
    }

    /// The ingress of a packet that is to wait at a port: nowhere if it is not counted there.
    #[inline(always)]
    pub(crate) fn ingress_of(&self, id: PacketId, port: u32, queue: usize) -> u32 {
        let counted = self.pauses && queue < CLASSES && self.settings.classes[queue].lossless;
        if !counted || self.at_host(port) {
            return NOWHERE;
        }
        let ingress = self.came_by.get(id.slot()).copied().unwrap_or(NOWHERE);
        // Named by a packet that had its slot before, perhaps: another switch's then.
        let here = ingress != NOWHERE
            && self.from[self.reverse[ingress as usize] as usize] == self.from[port as usize];
        if here { ingress } else { NOWHERE }
    }

    /// Counts a frame in at a port, if there is room for it; says whom it pauses.
    #[inline]
    pub(crate) fn count_in(&mut self, port: u32, queue: usize, frame: Waiting) -> bool {
        let frame_bytes = u64::from(frame.frame_bytes);
        let classed = &self.ports[port as usize];
        if queue < Class::Data as usize || queue == PAUSES || self.buffers.is_empty() || self.at_host(port) {
            return classed.fits(queue, frame_bytes);
        }
        let queue_bytes = classed.queues.bytes(queue);
        let switch = (self.from[port as usize] - self.hosts) as usize;
        if frame.ingress == NOWHERE {
            return self.buffers[switch].enqueue(queue_bytes, frame_bytes);
        }
        let buffer = &mut self.buffers[switch];
        buffer.may_queue(queue_bytes, frame_bytes)
            && buffer.arrive(&mut self.ingress[frame.ingress as usize][queue], frame_bytes)
    }

    /// Counts a frame out at a port.
    pub(crate) fn count_out(&mut self, port: u32, queue: usize, frame: Waiting) {
        if queue < Class::Data as usize || queue == PAUSES || self.buffers.is_empty() || self.at_host(port) {
            return;
        }
        let switch = (self.from[port as usize] - self.hosts) as usize;
        let frame_bytes = frame.frame_bytes.into();
        if frame.ingress == NOWHERE {
            self.buffers[switch].dequeue(frame_bytes);
        } else {
            self.buffers[switch].depart(&mut self.ingress[frame.ingress as usize][queue], frame_bytes);
        }
    }

    /// Decides whom a frame without room costs its payload. If another one, it is counted out and this one in.
    pub(crate) fn cut(&mut self, port: u32, queue: usize, frame: Waiting, now_ps: u64) -> Admitted {
        let admitted = self.ports[port as usize].cut(queue, now_ps);
        if let Admitted::CutNewest(newest) = admitted {
            self.count_out(port, queue, newest);
            if !self.buffers.is_empty() {
                let switch = (self.from[port as usize] - self.hosts) as usize;
                self.buffers[switch].replace(frame.frame_bytes.into());
            }
        }
        admitted
    }

    /// Pause that the switch of a port sends after it counted a frame in.
    pub(crate) fn pause(
        &mut self,
        port: u32,
        queue: usize,
        frame: Waiting,
        now_ps: u64,
    ) -> Option<PauseFrame> {
        self.tell(port, queue, frame, |buffer, ingress| {
            buffer.pauses(ingress, now_ps).then_some(buffer.rules().quantum_ps)
        })
    }

    /// Resumption that the switch of a port sends after it counted a frame out.
    pub(crate) fn resume(
        &mut self,
        port: u32,
        queue: usize,
        frame: Waiting,
        now_ps: u64,
    ) -> Option<PauseFrame> {
        self.tell(port, queue, frame, |buffer, ingress| buffer.resumes(ingress, now_ps).then_some(0))
    }

    #[inline]
    fn tell(
        &mut self,
        port: u32,
        queue: usize,
        frame: Waiting,
        decide: impl FnOnce(&SharedBuffer, &mut Ingress) -> Option<u64>,
    ) -> Option<PauseFrame> {
        if frame.ingress == NOWHERE {
            return None;
        }
        let switch = (self.from[port as usize] - self.hosts) as usize;
        let ingress = &mut self.ingress[frame.ingress as usize][queue];
        let quantum_ps = decide(&self.buffers[switch], ingress)?;
        Some(PauseFrame { ingress: frame.ingress, class: Class::ALL[queue], quantum_ps })
    }

    /// Pause that is sent again because its timer rang, and whether nothing moved since it was sent before.
    pub(crate) fn refresh(&mut self, ingress: u32, class: Class, now_ps: u64) -> Option<(PauseFrame, Stuck)> {
        let port = self.reverse[ingress as usize];
        let switch = (self.from[port as usize] - self.hosts) as usize;
        let buffer = &self.buffers[switch];
        let stuck = buffer.refreshes(&mut self.ingress[ingress as usize][class as usize], now_ps)?;
        Some((PauseFrame { ingress, class, quantum_ps: buffer.rules().quantum_ps }, stuck))
    }
}

/// Refuses buffers that are smaller than what is set aside in them, and pauses that lapse before they are sent again.
///
/// # Errors
/// The key of the shared buffer at fault, below `[fabric]`.
pub fn check_switches(fabric: &Fabric, framing: Framing, nic: &Nic) -> Result<(), FabricError> {
    let Some(settings) = fabric.switches() else { return Ok(()) };
    let Some(shared) = &settings.shared else { return Ok(()) };
    for (number, node) in fabric.nodes().iter().enumerate().skip(fabric.hosts() as usize) {
        let aside_bytes = aside_bytes(fabric, settings, (framing, nic), number as u32).iter().sum::<u64>();
        if aside_bytes > shared.bytes {
            return Err(FabricError::new(
                "switch.shared.size",
                format!(
                    "{} B: headroom and guarantees of the {} ports of {} take {aside_bytes} B",
                    shared.bytes,
                    fabric.ports_of(number as u32).len(),
                    node.name
                ),
                format!("give at least {aside_bytes} B, or set a smaller headroom"),
            ));
        }
    }
    if shared.refresh == Refresh::Timer && settings.classes.iter().any(|class| class.lossless) {
        let frame_bytes =
            u32::from(framing.frame_bytes(framing.payload_bytes_max)) + u32::from(framing.gap_bytes);
        let slowest = fabric.ports().iter().map(|port| port.rate).min();
        let waits_ps = slowest.map_or(0, |rate| 2 * rate.serialization().frame_ps(frame_bytes));
        if shared.quantum_ps < 2 * waits_ps {
            return Err(FabricError::new(
                "switch.shared.pause",
                format!(
                    "{} ns: it may lapse before it is sent again, behind a frame of {} ns",
                    shared.quantum_ps / 1000,
                    waits_ps / 2000
                ),
                format!("give at least {} ns", (2 * waits_ps).div_ceil(1000)),
            ));
        }
    }
    Ok(())
}

/// Bytes of a switch's buffer that the pool does not have: guarantees and headroom.
fn aside_bytes(fabric: &Fabric, settings: &SwitchSettings, sent: (Framing, &Nic), node: u32) -> [u64; 2] {
    let Some(shared) = &settings.shared else { return [0; 2] };
    let classes = settings.classes.iter().filter(|class| class.lossless).count() as u64;
    let ports = fabric.ports_of(node);
    let into = |&port: &u32| fabric.ports()[port as usize].reverse;
    let headroom = ports.iter().map(into).map(|into| headroom_bytes(fabric, settings, sent, into));
    [classes * ports.len() as u64 * u64::from(shared.guarantee_bytes), classes * headroom.sum::<u64>()]
}

/// Most bytes that come in by a port's link after its switch has sent a pause.
fn headroom_bytes(
    fabric: &Fabric,
    settings: &SwitchSettings,
    (framing, nic): (Framing, &Nic),
    into: u32,
) -> u64 {
    let Some(shared) = &settings.shared else { return 0 };
    if let Some(bytes) = shared.headroom_bytes {
        return bytes.into();
    }
    let port = &fabric.ports()[into as usize];
    let back = &fabric.ports()[port.reverse as usize];
    let frame_bytes =
        u64::from(framing.frame_bytes(framing.payload_bytes_max)) + u64::from(framing.gap_bytes);
    // What the other end sends meanwhile at its rate; the frame that the pause waits for is sent at ours.
    let waits_ps = port.delay_ps
        + back.delay_ps
        + back
            .rate
            .serialization()
            .bytes_ps(frame_bytes + u64::from(PAUSE_BYTES) + u64::from(framing.gap_bytes));
    let on_link = u128::from(waits_ps) * u128::from(port.rate.bps()) / 8_000_000_000_000;
    // What a card that jitters has sent may be late by a frame.
    let late = u64::from(port.from < fabric.hosts() && nic.jitter);
    on_link as u64 + 1 + (FRAMES_AFTER_PAUSE - 1 + late) * frame_bytes
}
