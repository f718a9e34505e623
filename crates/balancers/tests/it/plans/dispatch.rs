//! DBB's tables, and what they must never do, on flows of all kinds.

use anabranch_balancers::dbb::cycle_units::CycleUnits;
use anabranch_balancers::dbb::dispatch::{Dispatch, DispatchRule};
use anabranch_plan::{FlowChoice, FlowLink, MaxFlow};
use proptest::prelude::*;

fn links(links: &[(u32, u32, u64)]) -> Vec<FlowLink> {
    links.iter().map(|&(from, to, bandwidth)| FlowLink { from, to, bandwidth }).collect()
}

/// The paper's Fig. 2b: bandwidths of the flow.
fn figure_2() -> Vec<FlowLink> {
    links(&[(1, 2, 6), (1, 3, 6), (2, 4, 3), (2, 5, 3), (3, 4, 3), (3, 5, 3), (4, 6, 6), (5, 6, 6)])
}

/// Its Fig. 5, up to a common factor: the counts of its Table IV.
fn figure_5() -> Vec<FlowLink> {
    links(&[(1, 2, 2), (1, 3, 8), (2, 4, 1), (2, 5, 1), (3, 4, 3), (3, 5, 5), (4, 6, 4), (5, 6, 6)])
}

fn dispatch(links: &[FlowLink], sink: u32, rule: DispatchRule) -> Dispatch {
    Dispatch::new(links, 1, sink, rule, 4096).unwrap()
}

/// The switches of each packet's path, the source left out.
fn paths(dispatch: &Dispatch, links: &[FlowLink]) -> Vec<Vec<u32>> {
    dispatch.rows.iter().map(|row| row.iter().map(|&link| links[link as usize].to).collect()).collect()
}

fn turns(dispatch: &Dispatch, links: &[FlowLink], switch: u32) -> Vec<u32> {
    dispatch.turns(switch).iter().map(|&link| links[link as usize].to).collect()
}

#[test]
fn ratios_and_quotas_of_figure_2() {
    let dispatch = dispatch(&figure_2(), 6, DispatchRule::Quota);
    assert_eq!(dispatch.ratios, [1, 1, 1, 1, 1, 1, 1, 1]);
    assert_eq!(dispatch.ratio_sums, [2, 4, 2]);
    assert_eq!(dispatch.cycle, 4);
    assert_eq!(dispatch.quotas, [2, 2, 1, 1, 1, 1, 2, 2]);
    assert_eq!([2, 3, 4, 5, 6].map(|switch| dispatch.switch_quota(switch)), [2, 2, 2, 2, 4]);
}

#[test]
fn table_1_what_s1_does() {
    let links = figure_2();
    let dispatch = dispatch(&links, 6, DispatchRule::Quota);
    let left: Vec<[i64; 2]> =
        (0..4).map(|sequence| [2, 3].map(|switch| dispatch.switch_left(switch, sequence))).collect();
    assert_eq!(left, [[2, 2], [1, 2], [1, 1], [0, 1]]);
    let next: Vec<u32> = paths(&dispatch, &links).iter().map(|path| path[0]).collect();
    assert_eq!(next, [2, 3, 2, 3]);
}

#[test]
fn table_2_what_stage_2_does() {
    let links = figure_2();
    let dispatch = dispatch(&links, 6, DispatchRule::Quota);
    let left: Vec<[i64; 2]> =
        (0..4).map(|sequence| [4, 5].map(|switch| dispatch.switch_left(switch, sequence))).collect();
    // The paper prints 0 and 1 in the last row, although its row 3 takes S5 and row 4 takes S4: the two are swapped.
    assert_eq!(left, [[2, 2], [1, 2], [1, 1], [1, 0]]);
    let steps: Vec<[u32; 2]> = paths(&dispatch, &links).iter().map(|path| [path[0], path[1]]).collect();
    assert_eq!(steps, [[2, 4], [3, 5], [2, 5], [3, 4]]);
}

#[test]
fn table_3_the_whole_cycle_and_its_lists() {
    let links = figure_2();
    let dispatch = dispatch(&links, 6, DispatchRule::Quota);
    assert_eq!(paths(&dispatch, &links), [[2, 4, 6], [3, 5, 6], [2, 5, 6], [3, 4, 6]]);
    assert_eq!(turns(&dispatch, &links, 1), [2, 3]);
    assert_eq!(turns(&dispatch, &links, 2), [4, 5]);
    assert_eq!(turns(&dispatch, &links, 3), [5, 4]);
    assert_eq!(turns(&dispatch, &links, 4), [6]);
    assert_eq!(turns(&dispatch, &links, 5), [6]);
    assert!(turns(&dispatch, &links, 6).is_empty());
}

#[test]
fn table_4_uneven_bandwidths() {
    let links = figure_5();
    let dispatch = dispatch(&links, 6, DispatchRule::Quota);
    assert_eq!(dispatch.ratios, [1, 4, 1, 1, 3, 5, 2, 3]);
    assert_eq!(dispatch.ratio_sums, [5, 10, 5]);
    assert_eq!(dispatch.cycle, 10);
    assert_eq!([2, 3, 4, 5].map(|switch| dispatch.switch_quota(switch)), [2, 8, 4, 6]);
    let steps: Vec<[u32; 2]> = paths(&dispatch, &links).iter().map(|path| [path[0], path[1]]).collect();
    assert_eq!(steps, [[2, 4], [3, 5], [3, 5], [3, 4], [3, 5], [2, 5], [3, 4], [3, 5], [3, 4], [3, 5]]);
    assert_eq!(turns(&dispatch, &links, 1), [2, 3, 3, 3, 3]);
    assert_eq!(turns(&dispatch, &links, 2), [4, 5]);
    assert_eq!(turns(&dispatch, &links, 3), [5, 5, 4, 5, 4, 5, 4, 5]);
}

#[test]
fn the_literal_rule_leaves_planned_links_idle() {
    let links = figure_2();
    let dispatch = dispatch(&links, 6, DispatchRule::Literal);
    assert_eq!(paths(&dispatch, &links), [[2, 4, 6], [3, 5, 6], [2, 4, 6], [3, 5, 6]]);
    assert_eq!(carried(&dispatch)[2..6], [2, 0, 0, 2], "Eq. 2 wants one packet over each");
}

#[test]
fn parallel_links_share_by_their_own_quotas() {
    let links = links(&[(1, 2, 2), (1, 2, 1), (1, 3, 3), (2, 4, 3), (3, 4, 3)]);
    let dispatch = dispatch(&links, 4, DispatchRule::Quota);
    assert_eq!(dispatch.turns(1), [0, 2, 1, 2, 0, 2]);
    assert_eq!(carried(&dispatch), dispatch.quotas);
}

#[test]
fn flows_without_stages_are_refused_by_name() {
    let shortcut = links(&[(1, 2, 1), (1, 3, 1), (2, 3, 1), (3, 4, 2)]);
    let error = Dispatch::new(&shortcut, 1, 4, DispatchRule::Quota, 4096).unwrap_err().to_string();
    assert!(error.contains("the link from switch 2 to switch 3"), "{error}");
    let unequal = links(&[(1, 2, 1), (1, 3, 1), (2, 9, 1), (3, 4, 1), (4, 9, 1)]);
    let error = Dispatch::new(&unequal, 1, 9, DispatchRule::Quota, 4096).unwrap_err().to_string();
    assert!(error.contains("the link from switch 4 to switch 9"), "{error}");
    let leaking = links(&[(1, 2, 3), (2, 3, 2)]);
    let error = Dispatch::new(&leaking, 1, 3, DispatchRule::Quota, 4096).unwrap_err().to_string();
    assert!(error.contains("switch 2 is to send more or less"), "{error}");
    let long = links(&[(1, 2, 5000), (1, 3, 1), (2, 4, 5000), (3, 4, 1)]);
    let error = Dispatch::new(&long, 1, 4, DispatchRule::Quota, 4096).unwrap_err().to_string();
    assert!(error.contains("more than 4096 packets"), "{error}");
}

/// Packets by link that the cycle sends.
fn carried(dispatch: &Dispatch) -> Vec<u64> {
    let mut carried = vec![0; dispatch.quotas.len()];
    for &link in dispatch.rows.iter().flatten() {
        carried[link as usize] += 1;
    }
    carried
}

/// Links of a fabric of three stages, with the capacities of all that are not zero: source 0, sink 99.
fn layered(up: &[u64], across: &[Vec<u64>], down: &[u64]) -> Vec<FlowLink> {
    let link = |from, to, bandwidth| FlowLink { from, to, bandwidth };
    let mut links: Vec<FlowLink> = (0..).zip(up).map(|(i, &b)| link(0, 10 + i, b)).collect();
    for (i, row) in (0..).zip(across) {
        links.extend((0..).zip(row).map(|(j, &b)| link(10 + i, 20 + j, b)));
    }
    links.extend((0..).zip(down).map(|(j, &b)| link(20 + j, 99, b)));
    links.retain(|link| link.bandwidth > 0);
    links
}

#[test]
fn figure_2_is_the_balanced_flow_of_its_topology() {
    // Capacities of Fig. 2a that yield Fig. 2b: the middle links could carry 6/0/0/6 just as well.
    let capacities =
        links(&[(1, 2, 6), (1, 3, 6), (2, 4, 6), (2, 5, 6), (3, 4, 6), (3, 5, 6), (4, 6, 6), (5, 6, 6)]);
    let flow = MaxFlow::new(&capacities, 1, 6, FlowChoice::Balanced).unwrap();
    assert_eq!(flow.value, 12, "the text's z = 6 contradicts its own b_12 = b_13 = 6");
    let units = CycleUnits::default().round(&capacities, &flow, 1, 6).unwrap();
    assert_eq!(units.iter().map(|link| link.bandwidth).collect::<Vec<_>>(), [2, 2, 1, 1, 1, 1, 2, 2]);
    let any = MaxFlow::new(&capacities, 1, 6, FlowChoice::Any).unwrap();
    assert_eq!(any.value, 12);
    let units = CycleUnits::default().round(&capacities, &any, 1, 6).unwrap();
    assert_ne!(units[2].bandwidth, units[3].bandwidth, "one of the unbalanced maxima");
}

#[test]
fn a_third_is_a_third_and_a_long_cycle_is_rounded() {
    let units = |across: [u64; 3]| {
        let links = layered(&[6], &[across.to_vec()], &[60, 60, 60]);
        let flow = MaxFlow::new(&links, 0, 99, FlowChoice::Balanced).unwrap();
        let units = CycleUnits::default().round(&links, &flow, 0, 99).unwrap();
        units.iter().map(|link| link.bandwidth).collect::<Vec<_>>()
    };
    assert_eq!(units([10, 10, 10]), [3, 1, 1, 1, 1, 1, 1]);
    // Ways of two links: their flows are as the inverses of 1/10 + 1/60, 1/5 + 1/60, 1/5 + 1/60.
    assert_eq!(units([10, 5, 5]), [27, 13, 7, 7, 13, 7, 7]);
}

#[test]
fn a_long_cycle_is_rounded() {
    // 10,000 : 9973 : 27 repeats after 20,000 packets; within a thousandth of a packet 741 : 739 : 2 is the same.
    let links = layered(&[10_000, 9973, 27], &[vec![20_000], vec![20_000], vec![20_000]], &[20_000]);
    let flow = MaxFlow::new(&links, 0, 99, FlowChoice::Balanced).unwrap();
    let first = |cycle_max, levels| {
        let units = CycleUnits { cycle_max, levels }.round(&links, &flow, 0, 99).unwrap();
        units.iter().take(3).map(|link| link.bandwidth).collect::<Vec<_>>()
    };
    assert_eq!(first(4096, 64), [741, 739, 2]);
    // What does not fit exactly is a packet or less away from its share.
    assert_eq!(first(700, 64), [350, 349, 1]);
}

#[test]
fn a_rounded_cycle_carries_the_maximum_flow() {
    // The balanced flow's shares are no fractions with a small denominator; but whole units are a maximum flow too.
    let links = layered(&[53, 67, 31], &[vec![19, 37, 5], vec![23, 29, 31], vec![11, 7, 13]], &[47, 59, 83]);
    let flow = MaxFlow::new(&links, 0, 99, FlowChoice::Balanced).unwrap();
    assert_eq!(flow.value, 151);
    let units = CycleUnits::default().round(&links, &flow, 0, 99).unwrap();
    assert_eq!(units.iter().take(3).map(|link| link.bandwidth).collect::<Vec<_>>(), [53, 67, 31]);
    assert_eq!(CycleUnits::loss(&links, &flow, &units, 0), 0.0);
    // The first links carry all they can: sixteen packets cannot be to each other as 53, 67 and 31.
    let short = CycleUnits { cycle_max: 16, levels: 64 }.round(&links, &flow, 0, 99).unwrap();
    let loss = CycleUnits::loss(&links, &flow, &short, 0);
    assert!(loss > 0.01, "{loss}");
}

fn capacities() -> impl Strategy<Value = Vec<FlowLink>> {
    (1..5usize, 1..5usize).prop_flat_map(|(near, far)| {
        let capacity = || prop_oneof![Just(0u64), Just(1), Just(10), Just(40), 1..100u64];
        (
            prop::collection::vec(capacity(), near),
            prop::collection::vec(prop::collection::vec(capacity(), far), near),
            prop::collection::vec(capacity(), far),
        )
            .prop_map(|(up, across, down)| layered(&up, &across, &down))
    })
}

proptest! {
    /// The quota rule meets Eq. 2 on the balanced flow of any layered fabric, each switch following its own list.
    #[test]
    fn quotas_are_met(links in capacities()) {
        let Ok(flow) = MaxFlow::new(&links, 0, 99, FlowChoice::Balanced) else { return Ok(()) };
        let units = CycleUnits::default().round(&links, &flow, 0, 99).unwrap();
        let dispatch = Dispatch::new(&units, 0, 99, DispatchRule::Quota, 4096).unwrap();
        prop_assert_eq!(&carried(&dispatch), &dispatch.quotas);
        // A cycle counts as exact within a thousandth of a packet; one that is rounded loses nothing here, as no flow
        // has more than 4,096 units.
        prop_assert!(CycleUnits::loss(&links, &flow, &units, 0) <= 1e-3);
        prop_assert_eq!(dispatch.quotas.iter().zip(&units).filter(|(q, link)| (**q == 0) != (link.bandwidth == 0)).count(), 0);
        for switch in (0..30).filter(|&switch| !dispatch.turns(switch).is_empty()) {
            let turns = dispatch.turns(switch);
            for (link, &quota) in dispatch.quotas.iter().enumerate() {
                let times = turns.iter().filter(|&&turn| turn as usize == link).count() as u64;
                let passes = dispatch.rows.iter().flatten().filter(|&&l| units[l as usize].from == switch).count() as u64;
                if units[link].from == switch {
                    prop_assert_eq!(times * passes, quota * turns.len() as u64);
                }
            }
        }
    }

    /// The balanced flow is a flow, is maximal, and no shift between two parallel ways would make it more even.
    #[test]
    fn the_balanced_flow_is_a_maximum_flow(links in capacities()) {
        let Ok(flow) = MaxFlow::new(&links, 0, 99, FlowChoice::Balanced) else { return Ok(()) };
        let any = MaxFlow::new(&links, 0, 99, FlowChoice::Any).unwrap();
        prop_assert_eq!(flow.value, any.value);
        let cost = |flow: &MaxFlow| -> f64 {
            links.iter().zip(&flow.shares).map(|(link, share)| share * share / link.bandwidth as f64).sum()
        };
        prop_assert!(cost(&flow) <= cost(&any) * (1.0 + 1e-6), "{} {}", cost(&flow), cost(&any));
        let value = flow.value as f64;
        for (link, share) in links.iter().zip(&flow.shares) {
            prop_assert!(share * value <= link.bandwidth as f64 * (1.0 + 1e-6) + 1e-6, "{:?} {}", link, share * value);
        }
        for node in (10..14).chain(20..24) {
            let sum = |end: fn(&FlowLink) -> u32| -> f64 {
                links.iter().zip(&flow.shares).filter(|(link, _)| end(link) == node).map(|(_, share)| share).sum()
            };
            prop_assert!((sum(|link| link.to) - sum(|link| link.from)).abs() < 1e-6);
        }
    }
}
