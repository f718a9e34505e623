//! Trimming against a port of htsim_uec (`vectors/uec`), row for row: the engine's own port, driven by the arrivals and the
//! coins of that run.

use super::super::room::Coins;
use super::rows;
use crate::network::Network;
use crate::{Class, Framing, Kind, Nic, Packet, marks};
use anabranch_fabric::topology::{LeafSpine, LinkSettings};
use anabranch_fabric::{Buffer, ClassSettings, Fabric, MarkAt, Marking, Rate, Service, SwitchSettings};
use std::collections::BTreeMap;

const FRAMING: Framing =
    Framing { payload_bytes_max: 4086, header_bytes: 64, frame_bytes_min: 64, gap_bytes: 0, whole_ns: false };

fn fabric() -> Fabric {
    let link = LinkSettings {
        rate: Rate::from_bps(100_000_000_000).unwrap(),
        delay_ps: 1_000_000,
        buffer: Buffer { bytes: 178_450, packets: u32::MAX },
        marking: Marking::Ramp { low_bytes: 37_350, high_bytes: 145_250, probability: 1.0 },
    };
    let shape = LeafSpine {
        leaves: 2,
        spines: 1,
        hosts_per_leaf: 1,
        host_link: link,
        uplink: link,
        ..LeafSpine::default()
    };
    let mut fabric = shape.build().unwrap();
    let data = ClassSettings { service: Service::Weighted(1.0), lossless: false, trim: true };
    let mut switches = SwitchSettings { mark_at: MarkAt::Dequeue, ..SwitchSettings::default() };
    switches.classes[Class::Data as usize] = data;
    fabric.set_switches(Some(switches));
    fabric
}

struct Bench {
    network: Network,
    port: u32,
}

impl Bench {
    fn backlogs(&self) -> (u64, u64) {
        let queues = &self.network.classed.as_ref().unwrap().ports[self.port as usize].queues;
        (queues.bytes(Class::Data as usize), queues.bytes(Class::Control as usize))
    }

    fn coins(&mut self) -> &mut Coins {
        &mut self.network.classed.as_mut().unwrap().ports[self.port as usize].coins
    }

    /// Lets happen what happens until a time.
    fn run_until(&mut self, until_ps: u64) {
        while let Some((now_ps, source)) = self.network.queue.first()
            && now_ps <= until_ps
        {
            self.network.now_ps = now_ps;
            if let Some((_, id)) = self.network.arrival(source - crate::network::source::PORTS) {
                self.network.consume(id);
            }
        }
        self.network.now_ps = until_ps;
    }
}

#[test]
fn every_frame_fares_as_in_htsim() {
    let rows = rows(include_bytes!("../../../../../vectors/uec/port_trace_incast16.csv.gz"));
    assert_eq!(rows.len(), 16_322);
    let fabric = fabric();
    let to_host = (0..).zip(fabric.ports()).find(|(_, port)| port.to == 1).unwrap().0;
    let mut bench = Bench { network: Network::new(&fabric, FRAMING, &Nic::FIFO, 1), port: to_host };
    *bench.coins() = Coins::Recorded { heads: false, mark: false, asked: Vec::new() };
    // Frames that were cut, by the port, while it had no choice but by its coin.
    let (mut draws, mut drawn_marks, mut expected, mut variance) = (0, 0, 0.0, 0.0);
    let mut trimmed: BTreeMap<&str, u32> = BTreeMap::new();
    for (line, row) in (2..).zip(&rows) {
        let [time, event, flow, seq, size, low, high, mark, victim_flow, victim_seq] = &row[..] else {
            panic!("line {line}: ten cells")
        };
        let now_ps: u64 = time.parse().unwrap();
        let marked = mark == "1";
        let name = (flow.parse::<u32>().unwrap(), seq.parse::<i64>().unwrap() as u64);
        if event.starts_with("deq") {
            let Coins::Recorded { mark, asked, .. } = bench.coins() else { panic!("recorded coins") };
            (*mark, *asked) = (marked, Vec::new());
            let queues = &bench.network.classed.as_ref().unwrap().ports[to_host as usize].queues;
            let serving = queues.serving.unwrap();
            bench.network.now_ps = now_ps;
            bench.network.complete(to_host);
            let packet = *bench.network.packets.get(serving.id);
            assert_eq!((packet.connection, packet.seq), name, "line {line}: which frame");
            assert_eq!(event == "deq_low", serving.queue == Class::Data as u8, "line {line}: which queue");
            assert_eq!(packet.marks & marks::EXPERIENCED != 0, marked, "line {line}: marked");
            assert_eq!(packet.frame_bytes.to_string(), *size, "line {line}: size");
            let Coins::Recorded { asked, .. } = bench.coins() else { panic!("recorded coins") };
            for probability in std::mem::take(asked) {
                draws += 1;
                drawn_marks += u32::from(marked);
                expected += probability;
                variance += probability * (1.0 - probability);
            }
            bench.run_until(now_ps);
        } else {
            bench.run_until(now_ps);
            let Coins::Recorded { heads, .. } = bench.coins() else { panic!("recorded coins") };
            *heads = event == "data_in_cut_newest";
            let cut_before = event == "ctl_in";
            let data = seq != "-1";
            let full = if data && !cut_before && event == "cut_arriving" { "4150" } else { size };
            let mut packet = Packet {
                kind: if data { Kind::Data } else { Kind::Ack },
                connection: name.0,
                seq: name.1,
                marks: marks::CAPABLE,
                frame_bytes: full.parse().unwrap(),
                ..Packet::default()
            };
            if cut_before && data {
                packet.trim(64);
            }
            let newest = if victim_flow.is_empty() { None } else { Some((victim_flow, victim_seq)) };
            let waiting = bench.network.classed.as_ref().unwrap().ports[to_host as usize]
                .queues
                .waiting(Class::Data as usize)
                .last()
                .map(|frame| frame.id);
            let id = bench.network.packets.insert(packet);
            bench.network.enqueue(to_host, id);
            if let Some((flow, seq)) = newest {
                let victim = *bench.network.packets.get(waiting.unwrap());
                assert_eq!(
                    (victim.connection.to_string(), victim.seq.to_string()),
                    (flow.clone(), seq.clone())
                );
                assert_ne!(victim.marks & marks::TRIMMED, 0, "line {line}: the newest is cut");
            }
            *trimmed.entry(event).or_default() += 1;
        }
        let ours = bench.backlogs();
        assert_eq!(ours, (low.parse().unwrap(), high.parse().unwrap()), "line {line}: backlogs");
    }
    let queues = &bench.network.classed.as_ref().unwrap().ports[to_host as usize].queues;
    assert_eq!(queues.trimmed_packets, 126 + 114);
    assert_eq!((trimmed["data_in_cut_newest"], trimmed["cut_arriving"]), (126, 114));
    // Marks between the limits come with the probability that we would draw by: within five standard deviations.
    let off = (f64::from(drawn_marks) - expected) / variance.sqrt();
    assert!(draws > 1000 && off.abs() < 5.0, "{drawn_marks} of {draws} draws, {expected:.1} expected");
}
