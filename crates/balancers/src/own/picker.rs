//! Picks from outside: someone else's rule, asked for every decision.

use anabranch_sim::{Kind, Opened, Packet};
use anabranch_split::Env;

/// A packet that needs a decision, as a [`Picker`] or a [`crate::HostRule`] is shown it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PickedPacket {
    /// The flow it belongs to: for acknowledgements, the one they acknowledge.
    pub flow: u32,
    /// Payload of the whole flow.
    pub flow_bytes: u64,
    /// Host that sent this packet.
    pub src: u32,
    /// Host it goes to.
    pub dst: u32,
    /// Kind of packet.
    pub kind: Kind,
    /// Number of the first payload byte; in an acknowledgement the next byte expected.
    pub seq: u64,
    /// Payload.
    pub payload_bytes: u16,
    /// Frame with headers and checksum.
    pub frame_bytes: u16,
    /// Value that switches hash: the same for all packets of a connection in one direction.
    pub entropy: u32,
}

impl PickedPacket {
    /// A packet of a connection that carries `flow`.
    pub(crate) fn of(flow: &Opened, packet: &Packet) -> Self {
        let dst = packet.destination;
        Self {
            flow: flow.flow,
            flow_bytes: flow.size_bytes,
            src: if dst == flow.dst { flow.src } else { flow.dst },
            dst,
            kind: packet.kind,
            seq: packet.seq,
            payload_bytes: packet.payload_bytes,
            frame_bytes: packet.frame_bytes,
            entropy: packet.entropy,
        }
    }
}

/// View of a switch when it decides.
pub struct View<'a> {
    /// The switch: a node of the fabric.
    pub switch: u32,
    /// Number of the group. Routing makes new groups when it learns that links changed.
    pub group: u32,
    /// The ports of the group's members.
    pub ports: &'a [u32],
    /// Whether each member has a positive weight, that is whether a path leads on from there.
    pub(crate) usable: &'a [bool],
    pub(crate) env: &'a mut dyn DynEnv,
}

impl View<'_> {
    /// Now, in nanoseconds.
    pub fn now_ns(&mut self) -> u64 {
        self.env.now_ns()
    }

    /// Bytes that wait at a member's port, the frame in service included.
    pub fn backlog_bytes(&mut self, member: u16) -> u32 {
        self.env.backlog_bytes(member)
    }

    /// Whether a member may be used: its port is alive, and as far as routing knows a way leads on from there.
    #[must_use]
    pub fn up(&self, member: u16) -> bool {
        self.usable.get(usize::from(member)) == Some(&true) && self.env.up(member)
    }

    /// The next 32 random bits of this switch.
    pub fn random_u32(&mut self) -> u32 {
        self.env.random_u32()
    }
}

/// [`Env`] behind a pointer.
pub(crate) trait DynEnv {
    fn now_ns(&mut self) -> u64;
    fn backlog_bytes(&mut self, member: u16) -> u32;
    fn up(&self, member: u16) -> bool;
    fn random_u32(&mut self) -> u32;
}

impl<E: Env> DynEnv for E {
    fn now_ns(&mut self) -> u64 {
        Env::now_ns(self)
    }

    fn backlog_bytes(&mut self, member: u16) -> u32 {
        Env::backlog_bytes(self, member)
    }

    fn up(&self, member: u16) -> bool {
        Env::up(self, member)
    }

    fn random_u32(&mut self) -> u32 {
        Env::random_u32(self)
    }
}

/// A rule that is asked wherever a group has several members, one of them usable: for the first packet of each unit that
/// the scenario keeps together (flow, flowlet, flowcell), or for every packet.
///
/// A packet sent to a member that is not up is lost there. A picker that cannot go on keeps its reason, cancels the
/// [`anabranch_sim::Progress`] of the simulation and names any member.
pub trait Picker {
    /// The member (index into [`View::ports`]) that takes the packet.
    fn pick(&mut self, packet: &PickedPacket, view: &mut View<'_>) -> u16;
}
