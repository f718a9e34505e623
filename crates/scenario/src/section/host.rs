//! `[host]`: the network card of every host.

use anabranch_fabric::{Buffer, Marking};
use anabranch_form::Form;
use anabranch_form::unit::{Choice, Ecn, Flag, Room};
use anabranch_sim::{Nic, Queueing};

/// The network card of every host, with what the port behind a FIFO has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostSetting {
    /// Settings of the simulator.
    pub nic: Nic,
    /// Room at the port of a FIFO.
    pub buffer: Buffer,
    /// When the port of a FIFO marks.
    pub marking: Marking,
}

impl Default for HostSetting {
    fn default() -> Self {
        Self { nic: Nic::FAIR, buffer: Buffer::UNLIMITED, marking: Marking::Off }
    }
}

/// Ways in which packets wait.
const NICS: [&str; 3] = ["fair", "fifo", "rdma"];

/// The keys.
pub(crate) fn visit(form: &mut impl Form, host: &mut HostSetting) {
    let HostSetting { nic, buffer, marking } = host;
    let of = |queueing: &Queueing| match queueing {
        Queueing::Fair { .. } => NICS[0],
        Queueing::Fifo => NICS[1],
        Queueing::Rdma => NICS[2],
    };
    let mut word = of(&nic.queueing);
    form.kind(
        "nic",
        Choice(&NICS),
        &mut word,
        "How packets wait in a host. Fair: data wait in their connection, and the card takes packets from the \
         connections in turn, by bytes, as Linux's fq. FIFO: what a window lets out waits in one queue at the port, as \
         in ns-3 and htsim. RDMA: whenever the port is free, the card takes one packet of the next connection in turn, \
         as cards do with their queue pairs.",
    );
    if word != of(&nic.queueing) {
        nic.queueing = match word {
            "fifo" => Queueing::Fifo,
            "rdma" => Queueing::Rdma,
            _ => Nic::FAIR.queueing,
        };
    }
    match &mut nic.queueing {
        Queueing::Fair { limit } => form.key(
            "limit",
            Room,
            limit,
            "Most that one connection's data may fill in the card at once, one packet at least; the rest waits unsent \
             (Linux: TCP Small Queues).",
        ),
        Queueing::Rdma => {}
        Queueing::Fifo => {
            form.key(
                "buffer",
                Room,
                buffer,
                "Room for waiting frames at a host's port, the frame in service included.",
            );
            form.key(
                "ecn",
                Ecn,
                marking,
                "When a host's port marks packets: from a backlog on (DCTCP's step), never, or RED's ramp.",
            );
        }
    }
    form.key(
        "jitter",
        Flag,
        &mut nic.jitter,
        "Break phase locks, by the seed: a random processing time, uniform below a frame's own time on the link, follows \
         each frame's transmission by a host and never reorders (Floyd and Jacobson 1992); and the last place of a full \
         queue goes by lot to one of those that came since it was free. Otherwise senders in step stay in step, and one \
         of them loses for ever.",
    );
}
