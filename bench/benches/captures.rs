//! Packets per second of a capture that is read and whose connections are counted: `cargo bench -p anabranch-bench --bench
//! captures` prints the table of `bench/captures.md`. The capture is a file, its packets cut to 64 bytes, and each is of any
//! connection, so that connections stand in caches only where all do. Time is this thread's processor time.

#![allow(clippy::print_stdout)] // What it is for.

use anabranch_bench::{flow_keys, processor_time};
use anabranch_split::hash::Hash;
use anabranch_traffic::trace::Encapsulation;
use anabranch_traffic::{Direction, Replay, Source};
use std::path::Path;

const PACKETS: usize = 1 << 22;
const CONNECTIONS: [usize; 4] = [1_000, 20_000, 200_000, 1_000_000];
const ROUNDS: usize = 3;
const CAPTURED_BYTES: u32 = 64;
const BATCH: usize = 4096;

/// A pcap of TCP packets over IPv4 on Ethernet.
fn pcap(connections: usize) -> Vec<u8> {
    let words = |file: &mut Vec<u8>, words: &[u32]| {
        words.iter().for_each(|word| file.extend_from_slice(&word.to_le_bytes()));
    };
    let keys = flow_keys(connections);
    let mut file = Vec::with_capacity(24 + PACKETS * (16 + CAPTURED_BYTES as usize));
    words(&mut file, &[0xa1b2_c3d4, 2 | 4 << 16, 0, 0, 65_535, 1]);
    for (number, draw) in (0..).zip(flow_keys(PACKETS)) {
        let key = keys[(draw % connections as u64) as usize].to_be_bytes();
        words(&mut file, &[number / 1_000_000, number % 1_000_000, CAPTURED_BYTES, 1514]);
        file.extend_from_slice(&[0; 12]);
        file.extend_from_slice(&[8, 0, 0x45, 0, 5, 220, 0, 0, 0, 0, 64, 6, 0, 0]);
        // Addresses, then ports: 80 is one of them.
        file.extend_from_slice(&[10, key[0], key[1], key[2], 10, key[3], key[4], key[5]]);
        file.extend_from_slice(&[key[6] | 4, key[7], 0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0x50]);
        file.resize(24 + (number as usize + 1) * (16 + CAPTURED_BYTES as usize), 0);
    }
    file
}

fn main() {
    println!("| connections | millions of packets a second |");
    println!("|--:|--:|");
    for connections in CONNECTIONS {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("connections.pcap");
        std::fs::write(&file, pcap(connections)).expect("room for 336 MB");
        let mut least_s = f64::INFINITY;
        for _ in 0..ROUNDS {
            let start = processor_time();
            let mut source = Source::open(&file, Encapsulation::Outer).expect("a capture");
            let mut replay = Replay::new(Direction::Conversation, Hash::Xxh3, 0, []);
            let mut records = Vec::with_capacity(BATCH);
            while source.next_batch(&mut records, BATCH).expect("a whole capture") {
                replay.feed(&records);
            }
            assert_eq!(replay.packets(), PACKETS as u64, "all packets are read");
            least_s = least_s.min((processor_time() - start).as_secs_f64());
        }
        std::fs::remove_file(&file).expect("a file that can be removed");
        println!("| {connections} | {:.1} |", PACKETS as f64 / least_s / 1e6);
    }
}
