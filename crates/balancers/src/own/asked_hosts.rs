//! A [`HostRule`]'s values at work in hosts.

use crate::hosts::entropy::EntropyRule;
use crate::hosts::host_env::HostEnv;
use crate::own::host_rule::{Acknowledgement, HostRule, HostView, RandomBits};
use crate::own::picker::PickedPacket;
use anabranch_sim::{Opened, Packet};
use anabranch_split::picks::acknowledgement::Feedback;

/// Asks a rule from outside at every host.
pub(crate) struct AskedHosts(pub(crate) Box<dyn HostRule>);

/// State of a connection: what it carries, and its entropy value.
pub(crate) struct Carrying {
    flow: Opened,
    value: u16,
}

/// The answer of a rule that is shown the host.
fn ask(env: &mut HostEnv<'_>, question: impl FnOnce(&mut HostView) -> Option<u16>) -> Option<u16> {
    let mut host = HostView { now_ns: env.now_ns, random: RandomBits(env.stream.clone()) };
    let answer = question(&mut host);
    *env.stream = host.random.0;
    answer
}

impl EntropyRule for AskedHosts {
    type State = Carrying;

    fn open(&mut self, flow: &Opened, env: &mut HostEnv<'_>) -> Carrying {
        Carrying { flow: *flow, value: ask(env, |host| self.0.opened(flow, host)).unwrap_or(0) }
    }

    fn resume(&mut self, state: &mut Carrying, flow: &Opened) {
        state.flow = *flow;
        self.0.resumed(flow);
    }

    fn value(&mut self, state: &mut Carrying, packet: &Packet, env: &mut HostEnv<'_>) -> u16 {
        let shown = PickedPacket::of(&state.flow, packet);
        if let Some(value) = ask(env, |host| self.0.send(packet.connection, &shown, host)) {
            state.value = value;
        }
        state.value
    }

    fn learn(&mut self, state: &mut Carrying, feedback: &Feedback, rtt_ns: u32, env: &mut HostEnv<'_>) {
        let connection = state.flow.connection;
        let answer = match *feedback {
            Feedback::Acknowledged(acknowledged) => {
                let ack = Acknowledgement { acknowledged, rtt_ns };
                ask(env, |host| self.0.acknowledged(connection, &ack, host))
            }
            Feedback::TimedOut { .. } => ask(env, |host| self.0.timed_out(connection, host)),
            Feedback::Trimmed { .. } => None,
        };
        state.value = answer.unwrap_or(state.value);
    }

    fn close(&mut self, connection: u32) {
        self.0.closed(connection);
    }
}
