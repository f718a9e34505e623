//! The data level: which bytes of a flow each subflow carries, which have arrived, which are acknowledged.
//!
//! MPTCP writes the mapping from a subflow's bytes to the flow's into its segments (RFC 8684, section 3.3). Here both
//! ends are in one simulation, so the mapping stands once, and either end reads of it only what has reached it. Where they
//! are in different parts of the fabric, the receiver's part hears of it before the first of the bytes can arrive.

use super::prefix::Prefix;
use std::collections::VecDeque;
use std::ops::Range;

/// Bytes of the flow in a subflow's stream.
#[derive(Debug)]
struct Mapping {
    /// Position of the first of them in the subflow's stream.
    at: u64,
    data: Range<u64>,
    /// The subflow timed out over them, and others may carry them too.
    shared: bool,
}

/// One subflow's part of the flow.
#[derive(Debug, Default)]
struct Carrier {
    /// Mappings by ascending position; without gaps. Those that the subflow's sender knows to have arrived
    /// are gone.
    mappings: VecDeque<Mapping>,
    /// Bytes given to it.
    given: u64,
    /// Bytes that its receiver handed up.
    handed: u64,
    /// Bytes of the flow that it timed out over, for others to carry. Acknowledged ones may stand among them.
    strays: VecDeque<Range<u64>>,
}

/// The data level of a flow. Reusable: [`DataStream::reset`] keeps what is allocated.
#[derive(Debug, Default)]
pub(crate) struct DataStream {
    size: u64,
    window_max: u64,
    /// Lowest byte that no subflow was given.
    next: u64,
    carriers: Vec<Carrier>,
    acknowledged: Prefix,
    arrived: Prefix,
    /// Some subflow had room for what the receiver had none for.
    blocked: bool,
    /// What each subflow was given, in order, of which a receiver elsewhere is yet to hear.
    unreported: Option<Vec<(u8, Range<u64>)>>,
    /// Segments that carried strays.
    pub(crate) reinjected_packets: u64,
}

impl DataStream {
    /// Begins a stream of `size` bytes over `subflows` subflows, of which `window_max` may be unacknowledged.
    pub(crate) fn reset(&mut self, size: u64, subflows: u8, window_max: u64) {
        self.size = size;
        self.window_max = window_max;
        self.next = 0;
        self.carriers.resize_with(subflows.into(), Carrier::default);
        for carrier in &mut self.carriers {
            carrier.mappings.clear();
            carrier.given = 0;
            carrier.handed = 0;
            carrier.strays.clear();
        }
        self.acknowledged.clear();
        self.arrived.clear();
        self.blocked = false;
        self.unreported = None;
        self.reinjected_packets = 0;
    }

    /// The receiver is elsewhere, and hears what each subflow is given.
    pub(crate) fn report_elsewhere(&mut self) {
        self.unreported = Some(Vec::new());
    }

    /// What each subflow was given since the last call, in order, if a receiver elsewhere hears of it.
    pub(crate) fn take_unreported(&mut self) -> impl Iterator<Item = (u8, Range<u64>)> {
        self.unreported.as_mut().map(std::mem::take).unwrap_or_default().into_iter()
    }

    /// The owner and the bytes, at most `most`, of the lowest stray that `carrier` may carry.
    fn stray(&mut self, carrier: u8, most: u64) -> Option<(usize, Range<u64>)> {
        let mut lowest: Option<(usize, Range<u64>)> = None;
        for (owner, strays) in self.carriers.iter_mut().map(|carrier| &mut carrier.strays).enumerate() {
            if owner == usize::from(carrier) {
                continue;
            }
            let missing = loop {
                let Some(first) = strays.front() else { break None };
                let data = self.acknowledged.first_missing(first.clone());
                if !data.is_empty() {
                    break Some(data);
                }
                strays.pop_front();
            };
            if let Some(data) = missing
                && lowest.as_ref().is_none_or(|(_, known)| data.start < known.start)
            {
                lowest = Some((owner, data.start..data.end.min(data.start + most)));
            }
        }
        lowest
    }

    /// Bytes, at most `most`, of the next segment that `carrier` may carry.
    #[inline]
    pub(crate) fn waiting(&mut self, carrier: u8, most: u64) -> u64 {
        if self.has_strays()
            && let Some((_, data)) = self.stray(carrier, most)
        {
            return data.end - data.start;
        }
        most.min(self.size - self.next)
    }

    /// Gives `carrier` what [`Self::waiting`] said was waiting. False if the receiver has no room for it.
    #[inline]
    pub(crate) fn take(&mut self, carrier: u8, bytes: u64) -> bool {
        if self.has_strays()
            && let Some((owner, data)) = self.stray(carrier, bytes)
        {
            let strays = &mut self.carriers[owner].strays;
            if let Some(first) = strays.front_mut() {
                first.start = data.end;
                if first.is_empty() {
                    strays.pop_front();
                }
            }
            self.reinjected_packets += 1;
            self.give(carrier, data);
            return true;
        }
        let unacknowledged = self.next - self.acknowledged.end();
        if unacknowledged > 0 && unacknowledged + bytes > self.window_max {
            self.blocked = true;
            return false;
        }
        let data = self.next..self.next + bytes;
        self.next = data.end;
        self.give(carrier, data);
        true
    }

    /// Gives `carrier` bytes of the flow, or hears that its sender, elsewhere, was given them.
    pub(crate) fn give(&mut self, carrier: u8, data: Range<u64>) {
        if let Some(unreported) = &mut self.unreported {
            match unreported.last_mut() {
                Some((last, given)) if *last == carrier && given.end == data.start => given.end = data.end,
                _ => unreported.push((carrier, data.clone())),
            }
        }
        let carrier = &mut self.carriers[usize::from(carrier)];
        let at = carrier.given;
        carrier.given += data.end - data.start;
        match carrier.mappings.back_mut() {
            Some(last) if last.data.end == data.start && !last.shared => last.data.end = data.end,
            _ => carrier.mappings.push_back(Mapping { at, data, shared: false }),
        }
    }

    /// All below `una` of a subflow's stream is acknowledged. Whether that makes room at the receiver that some
    /// subflow had wanted.
    #[inline]
    pub(crate) fn acknowledge(&mut self, carrier: u8, una: u64) -> bool {
        let mappings = &mut self.carriers[usize::from(carrier)].mappings;
        let before = self.acknowledged.end();
        while let Some(first) = mappings.front_mut().filter(|first| first.at < una) {
            let end = first.data.end.min(first.data.start + una - first.at);
            self.acknowledged.insert(first.data.start..end);
            if end < first.data.end {
                first.data.start = end;
                first.at = una;
            } else {
                mappings.pop_front();
            }
        }
        let end = self.acknowledged.end();
        let advanced = end > before;
        if advanced {
            for strays in self.carriers.iter_mut().map(|carrier| &mut carrier.strays) {
                while strays.front().is_some_and(|first| first.end <= end) {
                    strays.pop_front();
                }
            }
        }
        advanced && std::mem::take(&mut self.blocked)
    }

    /// A subflow's receiver has handed up all below `delivered` of its stream. Whether the flow's last byte is among
    /// what can now be handed to the application, and was not before.
    #[inline]
    pub(crate) fn pass_up(&mut self, carrier: u8, delivered: u64) -> bool {
        let carrier = &mut self.carriers[usize::from(carrier)];
        if carrier.handed == delivered || self.arrived.end() == self.size {
            return false;
        }
        let first = carrier.mappings.partition_point(|mapping| mapping.at <= carrier.handed);
        for mapping in carrier.mappings.range(first.saturating_sub(1)..) {
            if mapping.at >= delivered {
                break;
            }
            let offset = |at: u64| at.saturating_sub(mapping.at);
            let start = mapping.data.start + offset(carrier.handed);
            let end = mapping.data.end.min(mapping.data.start + offset(delivered));
            self.arrived.insert(start..end);
        }
        carrier.handed = delivered;
        self.arrived.end() == self.size
    }

    /// A subflow timed out: what it has outstanding others may carry too, once.
    pub(crate) fn share(&mut self, owner: u8) {
        let Carrier { mappings, strays, .. } = &mut self.carriers[usize::from(owner)];
        for mapping in mappings.iter_mut().filter(|mapping| !mapping.shared) {
            mapping.shared = true;
            strays.push_back(mapping.data.clone());
        }
    }

    /// Whether others may carry what a subflow timed out over.
    pub(crate) fn has_strays(&self) -> bool {
        self.carriers.iter().any(|carrier| !carrier.strays.is_empty())
    }

    /// Bytes of the flow.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Bytes that the application has, in order.
    pub(crate) fn received(&self) -> u64 {
        self.arrived.end()
    }

    /// Whether every byte is acknowledged.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.acknowledged.end() == self.size
    }
}

#[cfg(test)]
mod tests {
    use super::DataStream;

    fn stream(size: u64, subflows: u8, window_max: u64) -> DataStream {
        let mut stream = DataStream::default();
        stream.reset(size, subflows, window_max);
        stream
    }

    /// Fills a subflow that has room with `bytes` of data.
    fn fill(stream: &mut DataStream, carrier: u8, bytes: u64) {
        assert_eq!(stream.waiting(carrier, bytes), bytes);
        assert!(stream.take(carrier, bytes));
    }

    #[test]
    fn the_flow_is_whole_when_every_byte_is_whichever_way_it_came() {
        let mut stream = stream(5_000, 2, 1 << 20);
        for (carrier, bytes) in [(0, 1000), (1, 1000), (1, 1000), (0, 1000)] {
            fill(&mut stream, carrier, bytes);
        }
        assert_eq!(stream.waiting(1, 1448), 1000, "the last segment is short");
        fill(&mut stream, 1, 1000);
        assert_eq!(stream.waiting(0, 1448), 0);
        // Subflow 1 carries 1000..3000 and 4000..5000 of the flow, subflow 0 the rest.
        assert!(!stream.pass_up(1, 3000));
        assert!(!stream.pass_up(0, 1500));
        assert!(!stream.pass_up(0, 1500), "nothing new");
        assert_eq!(stream.arrived.end(), 3500);
        assert!(stream.pass_up(0, 2000));
        assert!(!stream.acknowledge(1, 3000));
        assert!(!stream.is_acknowledged());
        stream.acknowledge(0, 2000);
        assert!(stream.is_acknowledged());
    }

    #[test]
    fn what_a_dead_subflow_holds_goes_over_the_others_once() {
        let mut stream = stream(10_000, 3, 1 << 20);
        fill(&mut stream, 0, 1000);
        fill(&mut stream, 1, 2000);
        fill(&mut stream, 0, 1000);
        fill(&mut stream, 1, 1000);
        stream.pass_up(1, 500);
        stream.acknowledge(1, 500);
        stream.share(1);
        // 1500..3000 and 4000..5000, but not over subflow 1 itself: it takes new data.
        assert_eq!(stream.waiting(1, 1448), 1448);
        assert_eq!(stream.waiting(0, 1000), 1000);
        fill(&mut stream, 0, 1000);
        assert_eq!(stream.waiting(2, 1000), 500);
        fill(&mut stream, 2, 500);
        fill(&mut stream, 2, 1000);
        assert_eq!(stream.reinjected_packets, 3);
        fill(&mut stream, 2, 1000);
        assert_eq!(stream.next, 6000, "then it is new data's turn");
        stream.share(1);
        assert_eq!(stream.waiting(0, 1000), 1000);
        assert!(!stream.has_strays(), "once is enough");
        // Subflow 1 is never heard of again.
        stream.pass_up(0, 3000);
        stream.pass_up(2, 2500);
        stream.acknowledge(0, 3000);
        stream.acknowledge(2, 2500);
        assert_eq!((stream.arrived.end(), stream.acknowledged.end()), (6000, 6000));
    }

    #[test]
    fn strays_that_were_acknowledged_meanwhile_are_not_sent() {
        let mut stream = stream(4_000, 2, 1 << 20);
        fill(&mut stream, 0, 2000);
        fill(&mut stream, 1, 2000);
        stream.share(0);
        assert_eq!(stream.waiting(1, 1448), 1448);
        stream.acknowledge(0, 1000);
        assert_eq!(stream.waiting(1, 1448), 1000);
        stream.acknowledge(0, 2000);
        assert_eq!(stream.waiting(1, 1448), 0);
        assert!(!stream.has_strays());
    }

    #[test]
    fn the_receivers_room_bounds_all_subflows_together() {
        let mut stream = stream(10_000, 2, 2_000);
        fill(&mut stream, 0, 1000);
        fill(&mut stream, 1, 1000);
        assert!(!stream.take(0, 1000));
        assert!(!stream.acknowledge(1, 1000), "the first byte is still missing");
        assert!(!stream.take(1, 1000));
        assert!(stream.acknowledge(0, 1000));
        assert!(!stream.acknowledge(0, 1000), "nobody waits any more");
        fill(&mut stream, 1, 1000);
    }

    /// However long the flow: mappings and strays live only while their bytes are outstanding.
    #[test]
    fn memory_does_not_grow_with_the_flow() {
        let mut stream = stream(1 << 40, 2, 1 << 20);
        let mut given = [0; 2];
        for round in 0u64..10_000 {
            let carrier = (round % 2) as u8;
            fill(&mut stream, carrier, 1448);
            given[usize::from(carrier)] += 1448;
            if round % 100 == 50 {
                stream.share(0);
            }
            if round >= 20 {
                for (carrier, given) in [(0, given[0]), (1, given[1])] {
                    stream.pass_up(carrier, given - 5 * 1448);
                    stream.acknowledge(carrier, given - 5 * 1448);
                }
            }
            assert!(
                stream.carriers.iter().all(|carrier| carrier.mappings.len().max(carrier.strays.len()) <= 12)
            );
        }
    }
}
