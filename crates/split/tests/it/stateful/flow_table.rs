//! Flow table against a map: same answers after any sequence of operations.

use anabranch_split::picks::{FlowList, FlowTable, Flows};
use proptest::prelude::*;
use std::collections::HashMap;

#[derive(Clone, Debug)]
enum Operation {
    Upsert { flow: u64, member: u16, note: u32 },
    Get { flow: u64 },
    ForgetBefore { note: u32 },
    Purge { member: u16 },
    SweepSome { places: usize, note: u32 },
}

/// Few distinct keys whose tags share their home, so that clusters are long, and random ones, so that tables grow.
fn key() -> impl Strategy<Value = u64> {
    prop_oneof![
        (0u64..200).prop_map(|i| {
            // The inverse of the table's multiplier: consecutive tags, hence one home.
            let inverse = inverse_of(0x9e37_79b9_7f4a_7c15);
            let mixed = (i << 11).wrapping_mul(inverse);
            mixed ^ (mixed >> 32)
        }),
        any::<u64>(),
        0u64..500,
    ]
}

fn inverse_of(odd: u64) -> u64 {
    (0..6).fold(odd, |x, _| x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x))))
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        8 => (key(), 0u16..1024, 0u32..1000)
            .prop_map(|(flow, member, note)| Operation::Upsert { flow, member, note }),
        4 => key().prop_map(|flow| Operation::Get { flow }),
        1 => (0u32..300).prop_map(|note| Operation::ForgetBefore { note }),
        1 => (0u16..1024).prop_map(|member| Operation::Purge { member }),
        1 => (0usize..100, 0u32..300).prop_map(|(places, note)| Operation::SweepSome { places, note }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn table_answers_like_a_map(operations in prop::collection::vec(operation(), 1..1500)) {
        let mut table = FlowTable::<u32>::default();
        let mut map = HashMap::<u64, (u16, u32)>::new();
        for operation in operations {
            match operation {
                Operation::Upsert { flow, member, note } => {
                    let mut known = None;
                    let got = table.upsert(flow, |before| { known = before; (member, note) });
                    prop_assert_eq!(got, member);
                    prop_assert_eq!(known, map.insert(flow, (member, note)));
                }
                Operation::Get { flow } => prop_assert_eq!(table.get(flow), map.get(&flow).copied()),
                Operation::ForgetBefore { note } => {
                    let mut freed = vec![];
                    table.sweep(usize::MAX, |_, &n| n < note, |member| freed.push(member));
                    let mut expected =
                        map.values().filter(|v| v.1 < note).map(|v| v.0).collect::<Vec<_>>();
                    map.retain(|_, v| v.1 >= note);
                    freed.sort_unstable();
                    expected.sort_unstable();
                    prop_assert_eq!(freed, expected);
                }
                Operation::Purge { member } => {
                    table.purge(member);
                    map.retain(|_, v| v.0 != member);
                }
                Operation::SweepSome { places, note } => {
                    let before = table.len();
                    let mut freed = 0;
                    table.sweep(places, |_, &n| n < note, |_| freed += 1);
                    prop_assert!(freed <= places);
                    prop_assert_eq!(table.len(), before - freed);
                    let gone =
                        map.iter().filter(|(k, _)| table.get(**k).is_none()).map(|(&k, v)| (k, v.1));
                    let gone = gone.collect::<Vec<_>>();
                    prop_assert_eq!(gone.len(), freed);
                    for (flow, n) in gone {
                        prop_assert!(n < note);
                        map.remove(&flow);
                    }
                }
            }
            prop_assert_eq!(table.len(), map.len());
        }
        for (&flow, &value) in &map {
            prop_assert_eq!(table.get(flow), Some(value));
        }
    }
}

#[test]
fn rotation_reaches_every_place() {
    let mut table = FlowTable::<u32>::default();
    for flow in 0..10_000 {
        table.upsert(flow, |_| (1, 0));
    }
    for _ in 0..=table.slots() / 8 {
        table.sweep(8, |_, _| true, |_| ());
    }
    // A flow that a removal carries past the hand waits for the next round.
    for _ in 0..=table.slots() / 8 {
        table.sweep(8, |_, _| true, |_| ());
    }
    assert!(table.is_empty());
}

#[test]
fn churn_does_not_wear_the_table_out() {
    let mut table = FlowTable::<u32>::default();
    for flow in 0..2_000_000u64 {
        table.upsert(flow, |_| (0, flow as u32));
        table.sweep(8, |_, &n| n + 3000 < flow as u32, |_| ());
    }
    assert!(table.bytes() < 3000 * 12 * 8, "{} bytes for {} flows", table.bytes(), table.len());
}

#[test]
fn a_flow_costs_8_bytes_at_9_16_load() {
    for flows in [9 << 12, 9 << 16] {
        let mut table = FlowTable::<()>::with_capacity(flows);
        let bytes = table.bytes();
        for flow in 0..flows as u64 {
            table.upsert(flow.wrapping_mul(0xd134_2543_de82_ef95), |_| (1023, ()));
        }
        assert_eq!((table.len(), table.bytes()), (flows, bytes));
        assert!(bytes <= flows * 8 * 16 / 9 + 512, "{bytes} bytes for {flows} flows");
    }
}

#[test]
fn list_keeps_its_order_and_forgets_what_it_must() {
    let mut list = FlowList::default();
    for flow in 0..100 {
        assert_eq!(list.upsert(flow, |known| known.unwrap_or(((flow % 3) as u16, ()))), (flow % 3) as u16);
    }
    assert_eq!(list.upsert(7, |known| known.unwrap_or((9, ()))), 1);
    list.purge(1);
    assert_eq!(list.len(), 67);
    assert_eq!((list.get(7), list.get(8)), (None, Some((2, ()))));
}
