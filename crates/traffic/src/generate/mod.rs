//! Generated traffic, for users without a capture: 5-tuples of a chosen kind with web-search sizes, fixed by a seed.
//!
//! A generator gives one direction of each connection, application bytes without headers, and times from zero.

mod classbench;
mod datacenter;
mod nat;
mod one_service;
mod port_walk;
mod schedule;
mod sequential_ports;

use crate::{Connections, Direction, Headers, PacketRecord};
use anabranch_split::FiveTuple;
use schedule::Schedule;

pub use schedule::{CONNECTION_RATE_BPS, MEAN_GAP_NS, RECORD_BYTES_MAX};

/// Kind of generator, by the source of its 5-tuples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Prefixes and ports as in packet filters.
    ClassBench,
    /// Racks of servers with one role each.
    Datacenter,
    /// One /24 of clients that connect to one server port.
    OneService,
    /// Source ports that count up.
    SequentialPorts,
    /// One source address, few destinations.
    Nat,
}

/// Reason why traffic cannot be generated, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {hint}")]
pub struct GenerateError {
    /// Key and value at fault.
    pub problem: String,
    /// Values that would work.
    pub hint: String,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 5] =
        [Self::ClassBench, Self::Datacenter, Self::OneService, Self::SequentialPorts, Self::Nat];

    /// Name of the kind, as users write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ClassBench => "classbench",
            Self::Datacenter => "datacenter",
            Self::OneService => "one-service",
            Self::SequentialPorts => "sequential-ports",
            Self::Nat => "nat",
        }
    }

    /// Description of the kind in one line.
    #[must_use]
    pub fn summary(self) -> &'static str {
        match self {
            Self::ClassBench => {
                "prefixes, ports and protocols as in a provider's packet filters (ClassBench-like)"
            }
            Self::Datacenter => "4,096 hosts in racks of 10.0.0.0/8, services on few ports, TCP mostly",
            Self::OneService => "one /24 of clients to one server port",
            Self::SequentialPorts => "one client whose source ports count up, then the next client",
            Self::Nat => "one source address with many ports, 16 destinations",
        }
    }

    /// Finds the kind with this name.
    ///
    /// # Errors
    /// Refuses an unknown name.
    pub fn parse(name: &str) -> Result<Self, GenerateError> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| GenerateError {
            problem: format!("generate: `{name}` is no kind of traffic"),
            hint: format!("choose one of {}", Self::ALL.map(Self::name).join(", ")),
        })
    }

    /// Largest number of connections it can give.
    #[must_use]
    pub fn connections_max(self) -> u64 {
        match self {
            Self::ClassBench => classbench::CONNECTIONS_MAX,
            Self::Datacenter => datacenter::CONNECTIONS_MAX,
            Self::OneService => one_service::CONNECTIONS_MAX,
            Self::SequentialPorts => sequential_ports::CONNECTIONS_MAX.min(u64::from(u32::MAX)),
            Self::Nat => nat::CONNECTIONS_MAX,
        }
    }

    fn endpoints(self, seed: u64) -> Box<dyn Endpoints> {
        match self {
            Self::ClassBench => Box::new(classbench::ClassBench::new(seed)),
            Self::Datacenter => Box::new(datacenter::Datacenter::new(seed)),
            Self::OneService => Box::new(one_service::OneService::new(seed)),
            Self::SequentialPorts => Box::<sequential_ports::SequentialPorts>::default(),
            Self::Nat => Box::new(nat::Nat::new(seed)),
        }
    }
}

/// Source of the two ends of connections; the same ends may be drawn twice.
trait Endpoints: Send + std::fmt::Debug {
    fn draw(&mut self) -> FiveTuple;
}

/// Stream of packets in order of time, of exactly as many connections as asked for.
#[derive(Debug)]
pub struct Generator {
    endpoints: Box<dyn Endpoints>,
    schedule: Schedule,
    /// Connections given so far, to recognise a repeated draw.
    known: Connections,
    connections: usize,
}

impl Generator {
    /// Generates traffic of `connections` conversations, no two with the same 5-tuple in either direction.
    ///
    /// # Errors
    /// Refuses zero connections, and more than the kind can give.
    pub fn new(kind: Kind, connections: u64, seed: u64) -> Result<Self, GenerateError> {
        let most = kind.connections_max();
        let fits = (1..=most).contains(&connections).then(|| usize::try_from(connections).ok()).flatten();
        let connections = fits.ok_or_else(|| GenerateError {
            problem: format!("generate: connections = {connections}"),
            hint: format!("{} gives 1 to {most}", kind.name()),
        })?;
        Ok(Self {
            endpoints: kind.endpoints(seed),
            schedule: Schedule::new(seed),
            known: Connections::new(Direction::Conversation),
            connections,
        })
    }

    /// Replaces `records` by the next `limit` (at least one), or fewer at the end. Returns false at the end, with no
    /// records.
    pub fn next_batch(&mut self, records: &mut Vec<PacketRecord>, limit: usize) -> bool {
        records.clear();
        while records.len() < limit.max(1) {
            if self.known.len() < self.connections && self.schedule.starts_next() {
                let tuple = self.fresh();
                self.schedule.start(tuple);
            }
            match self.schedule.send() {
                Some(record) => records.push(record),
                None => break,
            }
        }
        !records.is_empty()
    }

    /// Draws a 5-tuple that was not given before. This ends: every kind can give far more than its maximum, or gives
    /// each once.
    fn fresh(&mut self) -> FiveTuple {
        loop {
            let tuple = self.endpoints.draw();
            let before = self.known.len();
            self.known.observe(&PacketRecord { time_ns: 0, bytes: 0, tuple, headers: Headers::default() });
            if self.known.len() > before {
                return tuple;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn all(kind: Kind, connections: u64, seed: u64, limit: usize) -> Vec<PacketRecord> {
        let mut generator = Generator::new(kind, connections, seed).unwrap();
        let (mut records, mut batch) = (Vec::new(), Vec::new());
        while generator.next_batch(&mut batch, limit) {
            assert!(batch.len() <= limit);
            records.append(&mut batch);
        }
        records
    }

    #[test]
    fn as_many_connections_as_asked_in_order_of_time() {
        for kind in Kind::ALL {
            let records = all(kind, 5000, 1, 1000);
            let tuples: BTreeSet<_> = records.iter().map(|r| r.tuple.min(r.tuple.reversed())).collect();
            assert_eq!(tuples.len(), 5000, "{}", kind.name());
            assert!(records.is_sorted_by_key(|r| r.time_ns), "{}", kind.name());
            assert!(records.iter().all(|r| (1..=RECORD_BYTES_MAX).contains(&r.bytes)));
        }
    }

    #[test]
    fn records_of_a_connection_keep_its_rate() {
        let mut last = BTreeMap::new();
        let mut follows = 0;
        for record in all(Kind::Datacenter, 2000, 1, 64) {
            if let Some((time_ns, bytes)) = last.insert(record.tuple, (record.time_ns, record.bytes)) {
                assert_eq!(bytes, RECORD_BYTES_MAX, "only the last record is short");
                assert_eq!((record.time_ns - time_ns) * CONNECTION_RATE_BPS, bytes * 8 * 1_000_000_000);
                follows += 1;
            }
        }
        assert!(follows > 2000, "records interleave");
    }

    #[test]
    fn starts_are_poisson() {
        let mut starts = BTreeMap::new();
        for record in all(Kind::OneService, 20_000, 3, 4096) {
            starts.entry(record.tuple).or_insert(record.time_ns);
        }
        let mut starts: Vec<_> = starts.into_values().collect();
        starts.sort_unstable();
        let gaps: Vec<f64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n).sqrt();
        // An exponential distribution has its mean as its deviation.
        assert!((mean / MEAN_GAP_NS - 1.0).abs() < 4.0 / n.sqrt(), "{mean}");
        assert!((deviation / mean - 1.0).abs() < 0.05, "{deviation}");
    }

    #[test]
    fn the_seed_and_nothing_else_decides() {
        for kind in Kind::ALL {
            assert_eq!(all(kind, 500, 7, 1), all(kind, 500, 7, 1000), "{}", kind.name());
            assert_ne!(all(kind, 500, 7, 1000), all(kind, 500, 8, 1000), "{}", kind.name());
        }
    }

    /// Compares generated traffic with version 0.1.0, by FNV-1a over times and bytes: it is part of published results.
    #[test]
    fn a_seed_gives_the_same_bits_in_every_version() {
        let records = all(Kind::Datacenter, 5000, 7, 4096);
        let digest = records
            .iter()
            .flat_map(|record| [record.time_ns, record.bytes])
            .fold(0xcbf2_9ce4_8422_2325u64, |digest, value| (digest ^ value).wrapping_mul(0x100_0000_01b3));
        assert_eq!((records.len(), digest), (133_391, 0xc776_4cec_1c10_caca));
    }

    #[test]
    fn a_longer_run_begins_as_a_shorter_one() {
        let tuples = |connections| {
            let mut seen = Connections::new(Direction::Conversation);
            for record in all(Kind::ClassBench, connections, 5, 100) {
                seen.observe(&record);
            }
            seen.tuples().copied().collect::<Vec<_>>()
        };
        assert_eq!(tuples(300), tuples(900)[..300]);
    }

    #[test]
    fn the_adversaries_are_what_they_say() {
        let tuples =
            |kind| all(kind, 70_000, 1, 1 << 20).into_iter().map(|r| r.tuple).collect::<BTreeSet<_>>();
        let distinct = |tuples: &BTreeSet<FiveTuple>, field: fn(&FiveTuple) -> Vec<u8>| {
            tuples.iter().map(field).collect::<BTreeSet<_>>().len()
        };
        let service = tuples(Kind::OneService);
        assert_eq!(distinct(&service, |t| t.source[..3].to_vec()), 1);
        assert_eq!(distinct(&service, |t| [&t.destination[..], &t.destination_port].concat()), 1);
        let nat = tuples(Kind::Nat);
        assert_eq!(distinct(&nat, |t| t.source.to_vec()), 1);
        assert_eq!(distinct(&nat, |t| t.destination.to_vec()), 16);
        let ports = tuples(Kind::SequentialPorts);
        assert_eq!(distinct(&ports, |t| t.source.to_vec()), 2);
        assert_eq!(distinct(&ports, |t| t.source_port.to_vec()), 64_512);
    }

    #[test]
    fn what_cannot_be_given_is_refused() {
        for kind in Kind::ALL {
            assert!(Generator::new(kind, kind.connections_max(), 1).is_ok());
            let error = Generator::new(kind, kind.connections_max() + 1, 1).unwrap_err().to_string();
            assert!(
                error.contains(kind.name()) && error.contains(&kind.connections_max().to_string()),
                "{error}"
            );
            assert!(Generator::new(kind, 0, 1).is_err());
            assert_eq!(Kind::parse(kind.name()), Ok(kind));
        }
        assert!(Kind::parse("internet").unwrap_err().to_string().contains("classbench"));
    }

    #[test]
    fn nat_gives_all_it_has() {
        let mut endpoints = nat::Nat::new(1);
        let mut known = Connections::new(Direction::Conversation);
        for _ in 0..nat::CONNECTIONS_MAX {
            known.observe(&PacketRecord {
                time_ns: 0,
                bytes: 0,
                tuple: endpoints.draw(),
                headers: Headers::default(),
            });
        }
        assert_eq!(known.len() as u64, nat::CONNECTIONS_MAX);
    }
}
