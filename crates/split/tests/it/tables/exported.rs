//! Tables for other programs: their rule, `table[hash % length]`, against the group's picks, after every change.

use super::properties::{chi_square_z, flows, pick};
use anabranch_split::{Granularity, Group, Members, Parameters, TECHNIQUES, Weights};
use proptest::prelude::*;

/// Lengths of the tables of Katran and Cilium, of Linux's largest group, and what no stride near the golden section fits.
const LENGTHS: &[usize] = &[6, 8, 251, 1000, 4096, 16_381, 32_768, 65_520, 65_536, 65_537];

fn members(weights: &[u64], dead: &[usize]) -> Members {
    let up = (0..weights.len()).map(|member| !dead.contains(&member)).collect();
    Members::new(Weights::new(weights.to_vec()).unwrap(), up).unwrap()
}

fn group(slots: usize, members: &Members) -> Group {
    Group::new("min-move", members, &Parameters::new([("slots", slots.to_string())])).unwrap()
}

/// Picks of a program that has nothing but the table and 32-bit hashes.
fn read(table: &[u16], flows: &[u64]) -> Vec<u16> {
    flows.iter().map(|&flow| table[flow as u32 as usize % table.len()]).collect()
}

fn moved(before: &[u16], now: &[u16]) -> usize {
    before.iter().zip(now).filter(|(before, now)| before != now).count()
}

/// Slots of each member.
fn counts(table: &[u16], members: usize) -> Vec<usize> {
    let mut counts = vec![0; members];
    table.iter().for_each(|&member| counts[usize::from(member)] += 1);
    counts
}

#[test]
fn a_table_picks_as_its_group_does_for_every_technique() {
    let flows = flows(2, 20_000);
    let all = members(&[4, 3, 2, 9, 1], &[]);
    for row in TECHNIQUES {
        let group = Group::new(row.name, &all, &Parameters::default()).unwrap();
        let Some(table) = group.table() else {
            let computes = ["log-rendezvous", "valo", "cdf", "weighted-random", "alias", "rejection-cells"];
            let computes = computes.contains(&row.name) || row.name.starts_with("scoring");
            let other = ["random", "niagara", "wcmp-published"].contains(&row.name);
            assert!(computes || other || row.granularity != Granularity::Stateless, "{}", row.name);
            continue;
        };
        assert!(read(&table, &flows) == pick(&group, &flows), "{}", row.name);
        group.update(&members(&[4, 3, 2, 9, 1], &[3])).unwrap();
        let table = group.table().unwrap();
        assert!(read(&table, &flows) == pick(&group, &flows) && !table.contains(&3), "{}", row.name);
    }
}

/// Follows a table of each length through failures, returns and other weights: it picks as the group does, each member
/// has its share to the next whole number, and no slot moves beyond the difference of the counts. Two failures at once
/// leave tables of a few slots away from home, so the return is asked of the others.
#[test]
fn tables_of_every_length_move_the_least_and_come_home() {
    let flows = flows(3, 5_000);
    let steps: &[(&[u64], &[usize])] = &[
        (&[4, 3, 2, 7], &[]),
        (&[4, 3, 2, 7], &[3]),
        (&[4, 3, 2, 7], &[3, 0]),
        (&[4, 3, 2, 7], &[0]),
        (&[4, 3, 2, 7], &[]),
        (&[4, 5, 2, 7, 6], &[]),
        (&[4, 5, 2, 7, 6], &[1]),
        (&[4, 5, 2, 7, 6], &[]),
    ];
    for &length in LENGTHS {
        let group = group(length, &members(steps[0].0, &[]));
        let mut before = group.table().unwrap();
        let mut whole = before.clone();
        for &(weights, dead) in steps {
            group.update(&members(weights, dead)).unwrap();
            let table = group.table().unwrap();
            assert_eq!(table.len(), length);
            assert!(read(&table, &flows) == pick(&group, &flows), "{length} slots");
            let living = |member: usize| if dead.contains(&member) { 0 } else { weights[member] };
            let total = (0..weights.len()).map(living).sum::<u64>() as f64;
            let (now, then) = (counts(&table, 5), counts(&before, 5));
            for (member, &count) in now.iter().enumerate().take(weights.len()) {
                let quota = length as f64 * living(member) as f64 / total;
                assert!((count as f64 - quota).abs() < 1.0, "{length} slots, {member}: {count} for {quota}");
            }
            let least = now.iter().zip(&then).map(|(&now, &then)| then.saturating_sub(now)).sum::<usize>();
            assert_eq!(moved(&before, &table), least, "{length} slots, {weights:?} without {dead:?}");
            if dead.is_empty() && weights.len() == 4 && length > 250 {
                assert!(table == whole, "{length} slots: all are at home again");
            }
            if dead.is_empty() {
                whole = table.clone();
            }
            before = table;
        }
    }
}

/// Hashes by a program's own table, ten million of them, against the weights: z of 6 is chance once in 10^9.
#[test]
fn hashes_of_a_reader_fall_by_the_weights() {
    let flows = flows(4, 10_000_000);
    for (length, weights) in [(65_537, &[1, 10, 37, 100][..]), (16_381, &[3, 1, 1]), (4_099, &[1; 7])] {
        let group = group(length, &members(weights, &[]));
        for dead in [&[][..], &[0], &[]] {
            group.update(&members(weights, dead)).unwrap();
            let z = chi_square_z(&read(&group.table().unwrap(), &flows), &group.shares().unwrap());
            assert!(z < 6.0, "{length} slots, {weights:?} without {dead:?}: z = {z:.2}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_change_moves_the_least_at_any_length(
        length in 9usize..3000,
        weights in prop::collection::vec(1u64..1000, 1..9),
        other in prop::collection::vec(1u64..1000, 9),
        dead: prop::sample::Index,
    ) {
        let group = group(length, &members(&weights, &[]));
        let mut before = group.table().unwrap();
        let home = before.clone();
        let dead = if weights.len() > 1 { vec![dead.index(weights.len())] } else { vec![] };
        let changes = [members(&weights, &dead), members(&weights, &[]), members(&other, &[])];
        for (step, change) in changes.iter().enumerate() {
            group.update(change).unwrap();
            let table = group.table().unwrap();
            let (now, then) = (counts(&table, 9), counts(&before, 9));
            let least = now.iter().zip(&then).map(|(&now, &then)| then.saturating_sub(now)).sum::<usize>();
            prop_assert_eq!(moved(&before, &table), least);
            prop_assert!(step != 1 || table == home);
            before = table;
        }
    }
}
