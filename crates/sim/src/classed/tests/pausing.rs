//! Pauses against those of conweave-ns3 (`vectors/conweave`), row for row.

use super::super::shared_buffer::{Ingress, SharedBuffer};
use super::rows;
use anabranch_fabric::{Refresh, SharedBuffer as Rules};
use proptest::prelude::*;
use std::collections::BTreeMap;

#[test]
fn every_decision_is_that_of_conweave() {
    let rows = rows(include_bytes!("../../../../../vectors/conweave/pfc_incast8.csv.gz"));
    assert_eq!(rows.len(), 16_000);
    let number = |row: &[String], cell: usize| row[cell].parse::<u64>().unwrap();
    let rules = Rules { refresh: Refresh::Arrival, ..Rules::default() };
    let mut buffer = SharedBuffer::new(rules, number(&rows[0], 7), number(&rows[0], 7));
    let mut all: BTreeMap<u64, Ingress> = BTreeMap::new();
    let mut sent = (0, 0);
    for (line, row) in (2..).zip(&rows) {
        let now_ps = number(row, 0) * 1000;
        let ingress = all.entry(number(row, 2)).or_default();
        let frame_bytes = ingress.bytes.abs_diff(number(row, 4));
        let (mut pause, mut resume) = (false, false);
        if row[3] == "arrive" {
            assert!(buffer.arrive(ingress, frame_bytes), "line {line}: no room");
            pause = buffer.pauses(ingress, now_ps);
        } else {
            buffer.depart(ingress, frame_bytes);
            resume = buffer.resumes(ingress, now_ps);
        }
        let ours = (ingress.bytes, ingress.headroom_bytes, buffer.used_bytes(), pause, resume);
        let theirs = (number(row, 4), number(row, 5), number(row, 6), row[8] == "1", row[9] == "1");
        assert_eq!(ours, theirs, "line {line}");
        sent.0 += u32::from(pause);
        sent.1 += u32::from(resume);
    }
    assert_eq!(sent, (128, 4));
}

/// A lone queue may hold half of 1,000 bytes: as much as it leaves. Headroom counts, and nothing binds where no bound is given.
#[test]
fn a_lossless_queue_is_bounded_by_what_queues_leave() {
    for (lossless_alpha, most) in [(Some(1.0), 500), (Some(3.0), 800), (None, 900)] {
        let rules = Rules { guarantee_bytes: 0, lossless_alpha, ..Rules::default() };
        let mut buffer = SharedBuffer::new(rules, 600, 1_000);
        let mut ingress = Ingress { headroom_most: 300, ..Ingress::default() };
        let mut queue_bytes = 0;
        while buffer.may_queue(queue_bytes, 100) && buffer.arrive(&mut ingress, 100) {
            queue_bytes += 100;
        }
        assert_eq!(queue_bytes, most, "{lossless_alpha:?}");
        buffer.depart(&mut ingress, 100);
        assert!(buffer.may_queue(queue_bytes - 100, 100));
    }
}

proptest! {
    /// Sums of the buffer are those of its frames, headroom is used only when the pool is full, and who obeys pauses is never
    /// refused.
    #[test]
    fn counts_are_those_of_the_frames(
        steps in prop::collection::vec((0usize..4, 64u64..1600, any::<bool>()), 1..600),
        pool_bytes in 0u64..60_000,
    ) {
        let rules = Rules { guarantee_bytes: 3200, ..Rules::default() };
        let mut buffer = SharedBuffer::new(rules, pool_bytes, pool_bytes);
        let mut ingress = [Ingress { headroom_most: 5000, ..Ingress::default() }; 4];
        let mut frames: [Vec<u64>; 4] = Default::default();
        let mut since_pause = [0; 4];
        for (now_ps, (which, frame_bytes, arrives)) in (0..).zip(steps) {
            let one = &mut ingress[which];
            if arrives {
                // What is under way when a pause is sent, and no more.
                if one.paused && since_pause[which] + frame_bytes > 3400 {
                    continue;
                }
                prop_assert!(buffer.arrive(one, frame_bytes));
                frames[which].push(frame_bytes);
                since_pause[which] = if one.paused { since_pause[which] + frame_bytes } else { 0 };
                buffer.pauses(one, now_ps);
            } else if let Some(frame_bytes) = frames[which].pop() {
                buffer.depart(one, frame_bytes);
                buffer.resumes(one, now_ps);
            }
            let bytes: u64 = frames[which].iter().sum();
            prop_assert_eq!(ingress[which].bytes, bytes);
            prop_assert!(ingress[which].bytes > 0 || !ingress[which].paused, "empty and paused");
            let outside: u64 = ingress.iter().map(|one| one.bytes - one.headroom_bytes).sum();
            prop_assert_eq!(buffer.used_bytes(), outside);
        }
    }
}
