//! Lists of flows in few bytes: eight for a short flow that begins soon after the one before it.

use crate::{Flow, Ports, Start};
use std::num::NonZeroU16;

/// List of flows, packed: each says only how it differs from what most flows are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackedFlows {
    bytes: Vec<u8>,
    len: usize,
    /// What the last flow leaves to the next.
    before: Before,
}

/// What a flow's bytes are read against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Before {
    at_ps: u64,
    transport: u8,
}

/// Bits of a flow's first byte: which of the rest follows.
mod has {
    pub(super) const PATH: u8 = 1;
    pub(super) const JOB: u8 = 2;
    pub(super) const OTHER_TRANSPORT: u8 = 4;
    pub(super) const AFTER_FLOW: u8 = 8;
    pub(super) const AFTER_JOB: u8 = 16;
    /// It begins before the flow that begins at a time before it in the list.
    pub(super) const EARLIER: u8 = 32;
    pub(super) const READY: u8 = 64;
    pub(super) const PORTS: u8 = 128;
}

impl PackedFlows {
    /// Number of flows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a flow.
    pub fn push(&mut self, flow: &Flow) {
        let mut flags = 0;
        let mut set = |flag, is_set| flags |= if is_set { flag } else { 0 };
        set(has::PATH, flow.path.is_some());
        set(has::JOB, flow.job.is_some());
        set(has::OTHER_TRANSPORT, flow.transport != self.before.transport);
        set(has::AFTER_FLOW, matches!(flow.start, Start::After { .. }));
        set(has::AFTER_JOB, matches!(flow.start, Start::AfterJob { .. }));
        set(has::READY, matches!(flow.start, Start::Ready { .. }));
        set(has::PORTS, flow.ports != Ports::CHOSEN);
        set(has::EARLIER, matches!(flow.start, Start::At(at_ps) if at_ps < self.before.at_ps));
        self.bytes.push(flags);
        self.number(flow.src.into());
        self.number(flow.dst.into());
        self.number(flow.size_bytes);
        match flow.start {
            Start::At(at_ps) => {
                self.number(at_ps.abs_diff(self.before.at_ps));
                self.before.at_ps = at_ps;
            }
            Start::After { flow: awaited, delay_ps } | Start::AfterJob { job: awaited, delay_ps } => {
                self.number(awaited.into());
                self.number(delay_ps);
            }
            Start::Ready { work, node } => {
                self.number(work.into());
                self.number(node.into());
            }
        }
        flow.path.into_iter().chain(flow.job).for_each(|number| self.number(number.into()));
        if flow.transport != self.before.transport {
            self.bytes.push(flow.transport);
            self.before.transport = flow.transport;
        }
        if flow.ports != Ports::CHOSEN {
            let Ports { source, destination } = flow.ports;
            for port in [source, destination] {
                self.number(port.map_or(0, NonZeroU16::get).into());
            }
        }
        self.len += 1;
    }

    /// Writes a number in groups of seven bits, the lowest first (LEB128).
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// The flows, in order.
    pub fn iter(&self) -> impl Iterator<Item = Flow> {
        let mut reader = PackedReader::default();
        std::iter::from_fn(move || reader.next(self))
    }
}

impl Extend<Flow> for PackedFlows {
    fn extend<I: IntoIterator<Item = Flow>>(&mut self, flows: I) {
        flows.into_iter().for_each(|flow| self.push(&flow));
    }
}

impl FromIterator<Flow> for PackedFlows {
    fn from_iter<I: IntoIterator<Item = Flow>>(flows: I) -> Self {
        let mut packed = Self::default();
        packed.extend(flows);
        packed
    }
}

/// Position in a packed list.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PackedReader {
    at: usize,
    before: Before,
}

impl PackedReader {
    /// The next flow of `list`, always the same one; `None` at its end.
    pub(crate) fn next(&mut self, list: &PackedFlows) -> Option<Flow> {
        let bytes = &list.bytes[..];
        let flags = *bytes.get(self.at)?;
        self.at += 1;
        let number = |at: &mut usize| {
            let (mut number, mut shift) = (0, 0);
            loop {
                let byte = bytes[*at];
                *at += 1;
                number |= u64::from(byte & 0x7f) << shift;
                if byte < 0x80 {
                    return number;
                }
                shift += 7;
            }
        };
        let (src, dst, size_bytes) =
            (number(&mut self.at) as u32, number(&mut self.at) as u32, number(&mut self.at));
        let start = if flags & has::AFTER_FLOW != 0 {
            Start::After { flow: number(&mut self.at) as u32, delay_ps: number(&mut self.at) }
        } else if flags & has::AFTER_JOB != 0 {
            Start::AfterJob { job: number(&mut self.at) as u32, delay_ps: number(&mut self.at) }
        } else if flags & has::READY != 0 {
            Start::Ready { work: number(&mut self.at) as u32, node: number(&mut self.at) as u32 }
        } else {
            let apart_ps = number(&mut self.at);
            let at_ps = &mut self.before.at_ps;
            *at_ps = if flags & has::EARLIER == 0 { *at_ps + apart_ps } else { *at_ps - apart_ps };
            Start::At(*at_ps)
        };
        let path = (flags & has::PATH != 0).then(|| number(&mut self.at) as u32);
        let job = (flags & has::JOB != 0).then(|| number(&mut self.at) as u32);
        if flags & has::OTHER_TRANSPORT != 0 {
            self.before.transport = bytes[self.at];
            self.at += 1;
        }
        let ports = if flags & has::PORTS == 0 {
            Ports::CHOSEN
        } else {
            let [source, destination] = [(); 2].map(|()| NonZeroU16::new(number(&mut self.at) as u16));
            Ports { source, destination }
        };
        Some(Flow { src, dst, size_bytes, start, path, job, transport: self.before.transport, ports })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn flow() -> impl Strategy<Value = Flow> {
        let start = prop_oneof![
            any::<u64>().prop_map(Start::At),
            (0..1000u64).prop_map(Start::At),
            any::<(u32, u64)>().prop_map(|(flow, delay_ps)| Start::After { flow, delay_ps }),
            any::<(u32, u64)>().prop_map(|(job, delay_ps)| Start::AfterJob { job, delay_ps }),
            any::<(u32, u32)>().prop_map(|(work, node)| Start::Ready { work, node }),
        ];
        let ports = any::<(Option<NonZeroU16>, Option<NonZeroU16>)>()
            .prop_map(|(source, destination)| Ports { source, destination });
        let ports = prop_oneof![Just(Ports::CHOSEN), ports];
        (any::<(u32, u32, u64)>(), start, any::<(Option<u32>, Option<u32>, u8)>(), ports).prop_map(
            |((src, dst, size_bytes), start, (path, job, transport), ports)| Flow {
                src,
                dst,
                size_bytes,
                start,
                path,
                job,
                transport,
                ports,
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_out(flows in prop::collection::vec(flow(), 0..50)) {
            let packed: PackedFlows = flows.iter().copied().collect();
            let read: Vec<Flow> = packed.iter().collect();
            prop_assert_eq!(packed.len(), flows.len());
            prop_assert_eq!(read, flows);
        }
    }

    #[test]
    fn short_flows_of_a_long_list_take_eight_bytes() {
        let flow = |number: u64| Flow {
            src: number as u32 % 32,
            dst: (number as u32 + 1) % 32,
            size_bytes: 1000,
            start: Start::At(number * 167_000),
            path: None,
            job: None,
            transport: 0,
            ports: Ports::CHOSEN,
        };
        let packed: PackedFlows = (0..1000).map(flow).collect();
        assert!(packed.bytes.len() <= 8000, "{} bytes", packed.bytes.len());
    }
}
