//! Single pass over traffic: counts connections, and drives techniques that must see every packet.

use crate::{Connections, Direction, PacketRecord};
use anabranch_split::hash::Hash;
use anabranch_split::{Batch, FiveTuple};

/// Member of a connection before its first packet.
const NOWHERE: u16 = u16::MAX;

/// Traffic that each member of one technique has carried so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Connections by the member that carried their first packet.
    pub connections: Vec<u64>,
    /// Packets by member.
    pub packets: Vec<u64>,
    /// Bytes on the wire by member.
    pub bytes: Vec<u64>,
    /// Number of connections that used more than one member.
    pub spread: u64,
    /// Number of packets that took another member than the packet before them in their connection: there, order can be
    /// lost.
    pub crossings: u64,
}

/// Picks the member of every packet of a batch, in order, as [`anabranch_split::Group::pick_batch`] does.
/// Members may be added from one batch to the next.
pub type PickBatch<'t> = Box<dyn FnMut(&Batch<'_>, &mut [u16]) + 't>;

struct Online<'t> {
    pick: PickBatch<'t>,
    carried: Carried,
    /// Member of each connection's latest packet.
    latest: Vec<u16>,
    spread: Vec<bool>,
}

impl Online<'_> {
    fn feed(&mut self, batch: &Batch<'_>, connections: &[u32], out: &mut [u16]) {
        (self.pick)(batch, out);
        let members = out.iter().max().map_or(0, |&last| usize::from(last) + 1);
        if members > self.carried.packets.len() {
            let Carried { connections, packets, bytes, .. } = &mut self.carried;
            [connections, packets, bytes].into_iter().for_each(|column| column.resize(members, 0));
        }
        let packets = out.iter().zip(connections).zip(batch.bytes);
        for ((&member, &connection), &bytes) in packets {
            let (at, connection) = (usize::from(member), connection as usize);
            self.carried.packets[at] += 1;
            self.carried.bytes[at] += u64::from(bytes);
            let latest = std::mem::replace(&mut self.latest[connection], member);
            if latest == NOWHERE {
                self.carried.connections[at] += 1;
            } else if latest != member {
                self.carried.crossings += 1;
                self.carried.spread += u64::from(!std::mem::replace(&mut self.spread[connection], true));
            }
        }
    }
}

/// Pass over traffic. Memory grows with connections, not with packets.
pub struct Replay<'t> {
    connections: Connections,
    hash: Hash,
    seed: u32,
    /// One key per connection: the hash of the 5-tuple that names it, whichever direction a packet takes.
    keys: Vec<u64>,
    online: Vec<Online<'t>>,
    packets: u64,
    columns: Columns,
}

#[derive(Default)]
struct Columns {
    connections: Vec<u32>,
    /// 5-tuples of the connections that the batch began.
    new: Vec<FiveTuple>,
    flows: Vec<u64>,
    bytes: Vec<u32>,
    times_ns: Vec<u64>,
    out: Vec<u16>,
}

impl<'t> Replay<'t> {
    /// Starts a pass. Each pick of `online` comes with the number of its members.
    pub fn new(
        direction: Direction,
        hash: Hash,
        seed: u32,
        online: impl IntoIterator<Item = (PickBatch<'t>, usize)>,
    ) -> Self {
        let online = online.into_iter().map(|(pick, members)| {
            let zeros = vec![0; members];
            let carried = Carried {
                connections: zeros.clone(),
                packets: zeros.clone(),
                bytes: zeros,
                ..Carried::default()
            };
            Online { pick, carried, latest: Vec::new(), spread: Vec::new() }
        });
        Self {
            connections: Connections::new(direction),
            hash,
            seed,
            keys: Vec::new(),
            online: online.collect(),
            packets: 0,
            columns: Columns::default(),
        }
    }

    /// Counts `records`, in order of arrival, and shows them to the online techniques.
    pub fn feed(&mut self, records: &[PacketRecord]) {
        let columns = &mut self.columns;
        columns.connections.clear();
        self.connections.observe_all(records, &mut columns.connections);
        let known = self.keys.len();
        columns.new.clear();
        columns.new.extend(self.connections.tuples_from(known));
        self.keys.resize(self.connections.len(), 0);
        self.hash.keys(&columns.new, self.seed, &mut self.keys[known..]);
        self.packets += records.len() as u64;
        if self.online.is_empty() {
            return;
        }
        columns.flows.clear();
        columns.flows.extend(columns.connections.iter().map(|&i| self.keys[i as usize]));
        columns.bytes.clear();
        columns.bytes.extend(records.iter().map(|r| u32::try_from(r.bytes).unwrap_or(u32::MAX)));
        let mut now = columns.times_ns.last().copied().unwrap_or(0);
        columns.times_ns.clear();
        // Captures that merge several queues run back by microseconds; a scheme's clock may not.
        columns.times_ns.extend(records.iter().map(|r| {
            now = now.max(r.time_ns);
            now
        }));
        columns.out.resize(records.len(), 0);
        let batch = Batch { flows: &columns.flows, bytes: &columns.bytes, times_ns: &columns.times_ns };
        for online in &mut self.online {
            online.latest.resize(self.keys.len(), NOWHERE);
            online.spread.resize(self.keys.len(), false);
            online.feed(&batch, &columns.connections, &mut columns.out);
        }
    }

    /// Number of packets seen.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Connections so far.
    #[must_use]
    pub fn connections(&self) -> &Connections {
        &self.connections
    }

    /// Ends the pass; returns connections, their keys, and the traffic of each online technique.
    #[must_use]
    pub fn finish(self) -> (Connections, Vec<u64>, Vec<Carried>) {
        (self.connections, self.keys, self.online.into_iter().map(|online| online.carried).collect())
    }
}
