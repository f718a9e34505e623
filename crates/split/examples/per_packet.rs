//! Loop over packets one by one, while another thread changes the group.
//!
//! `cargo run --release --example per_packet`

use anabranch_split::{Group, Members, Parameters, PlanError, Weights};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

fn main() -> Result<(), PlanError> {
    let counts = run(1 << 22)?;
    #[expect(clippy::print_stdout, reason = "an example shows what it did")]
    {
        println!("packets by member, while 4:3:2 and 2:3:4 took turns: {counts:?}");
    }
    Ok(())
}

/// Picks once for each of `packets` flows; returns the packets of each member.
pub(crate) fn run(packets: u64) -> Result<[u64; 3], PlanError> {
    let turns = [[4, 3, 2], [2, 3, 4]].map(|weights| Weights::new(weights.to_vec()).map(Members::all_up));
    let [first, second] = turns;
    let turns = [first?, second?];
    let group = Group::new("min-move", &turns[0], &Parameters::default())?;
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let changes = scope.spawn(|| {
            turns
                .iter()
                .cycle()
                .take_while(|_| !done.load(Ordering::Relaxed))
                .try_for_each(|to| group.update(to))
        });
        let mut counts = [0; 3];
        // One reader per thread: a pick through it looks at one pointer, and takes no lock.
        let mut reader = group.reader();
        for packet in 0..packets {
            counts[usize::from(reader.pick(key(packet)))] += 1;
        }
        done.store(true, Ordering::Relaxed);
        changes.join().unwrap_or(Ok(()))?;
        Ok(counts)
    })
}

/// Key of a flow: in a program, `Hash::Xxh3.key` of the packet's 5-tuple.
fn key(packet: u64) -> u64 {
    let mixed = (packet + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 31)
}
