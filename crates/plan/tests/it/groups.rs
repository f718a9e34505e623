//! Groups of degraded fabrics against groups that are made one entry at a time, from the definition.

use anabranch_fabric::topology::{Clos, LeafSpine, Vl2};
use anabranch_fabric::{Fabric, LinkState, Rate};
use anabranch_plan::{Groups, Weighing, gcd};
use proptest::prelude::*;

fn fabric() -> impl Strategy<Value = Fabric> {
    prop_oneof![
        (1..6u32, 1..5u32, 1..3u32).prop_map(|(leaves, spines, parallel_links)| {
            LeafSpine { leaves, spines, hosts_per_leaf: 1, parallel_links, ..LeafSpine::default() }.build()
        }),
        (1..4u32, 1..4u32, 1..4u32, 1..3u32).prop_map(|(pods, leaves, aggregations, cores)| {
            let clos = Clos {
                pods,
                leaves_per_pod: leaves,
                aggregations_per_pod: aggregations,
                cores_per_aggregation: cores,
                hosts_per_leaf: 1,
                ..Clos::default()
            };
            clos.build()
        }),
        (1..8u32, 1..4u32).prop_map(|(leaves, pairs)| {
            Vl2 { leaves, aggregations: 2 * pairs, intermediates: 2, hosts_per_leaf: 1, ..Vl2::default() }
                .build()
        }),
    ]
    .prop_map(Result::unwrap)
}

fn degraded() -> impl Strategy<Value = (Fabric, LinkState)> {
    let some = || prop::collection::vec(any::<prop::sample::Index>(), 0..6);
    (fabric(), some(), some()).prop_map(|(fabric, dead, slow)| {
        let mut state = LinkState::of(&fabric);
        let ports = fabric.ports().len();
        dead.iter().for_each(|port| state.up[port.index(ports)] = false);
        for (port, gbps) in slow.iter().zip([1, 3, 7].into_iter().cycle()) {
            state.rate[port.index(ports)] = Rate::from_bps(gbps * 1_000_000_000).unwrap();
        }
        (fabric, state)
    })
}

/// Links between switches that carry, from `node`.
fn links<'a>(fabric: &'a Fabric, state: &'a LinkState, node: u32) -> impl Iterator<Item = (u32, u32)> + 'a {
    let own = fabric.ports_of(node).iter().map(|&port| (port, fabric.ports()[port as usize].to));
    own.filter(|&(port, to)| to >= fabric.hosts() && state.link_up(fabric, port))
}

/// Links from `node` to `leaf`; `None` if there is no path.
fn distance(fabric: &Fabric, state: &LinkState, node: u32, leaf: u32) -> Option<u32> {
    let mut reached = vec![node];
    for distance in 0..fabric.nodes().len() as u32 {
        if reached.contains(&leaf) {
            return Some(distance);
        }
        reached = reached.iter().flat_map(|&one| links(fabric, state, one)).map(|(_, to)| to).collect();
        reached.sort_unstable();
        reached.dedup();
    }
    None
}

/// Most that flows from `node` to `leaf` if every switch on the way fills its next hops.
fn capacity(fabric: &Fabric, state: &LinkState, distances: &[Option<u32>], node: u32, leaf: u32) -> u64 {
    if node == leaf {
        return u64::MAX;
    }
    let closer = links(fabric, state, node).filter(|&(_, to)| nearer(distances, to, node));
    closer
        .map(|(port, to)| state.rate[port as usize].bps().min(capacity(fabric, state, distances, to, leaf)))
        .sum()
}

fn nearer(distances: &[Option<u32>], to: u32, than: u32) -> bool {
    distances[to as usize].is_some_and(|to| distances[than as usize] == Some(to + 1))
}

proptest! {
    #[test]
    fn each_entry_has_its_next_hops_and_their_weights(((fabric, state), weigh) in (degraded(), 0..3)) {
        let weighing = match weigh {
            0 => Weighing::Equal,
            1 => Weighing::Capacity,
            _ => Weighing::Given(
                fabric.ports().iter().map(|port| (port.from, port.to, u64::from(port.to % 4))).collect(),
            ),
        };
        let groups = Groups::plan(&fabric, &state, &weighing);
        let mut next = 0;
        for node in fabric.hosts()..fabric.nodes().len() as u32 {
            for (destination, &leaf) in (0..).zip(&groups.leaves) {
                let distances: Vec<Option<u32>> = (0..fabric.nodes().len() as u32)
                    .map(|one| if one < fabric.hosts() { None } else { distance(&fabric, &state, one, leaf) })
                    .collect();
                let mut expected: Vec<(u32, u64)> = links(&fabric, &state, node)
                    .filter(|&(_, to)| nearer(&distances, to, node))
                    .map(|(port, to)| {
                        let behind = || capacity(&fabric, &state, &distances, to, leaf);
                        let weight = match weighing {
                            Weighing::Equal => 1,
                            Weighing::Capacity => state.rate[port as usize].bps().min(behind()),
                            Weighing::Given(_) => u64::from(to % 4),
                        };
                        (port, weight)
                    })
                    .collect();
                if let Weighing::Given(_) = weighing {
                    // Parallel links share.
                    let to = |port: u32| fabric.ports()[port as usize].to;
                    let counts: Vec<u64> = expected
                        .iter()
                        .map(|one| expected.iter().filter(|other| to(other.0) == to(one.0)).count() as u64)
                        .collect();
                    let product: u64 = counts.iter().fold(1, |product, count| product / gcd(product, *count) * count);
                    expected.iter_mut().zip(counts).for_each(|(one, count)| one.1 *= product / count);
                }
                let divisor = expected.iter().map(|one| one.1).fold(0, gcd).max(1);
                expected.iter_mut().for_each(|one| one.1 /= divisor);
                let group = groups.group(node, destination);
                let found: Vec<(u32, u64)> =
                    group.members.iter().map(|member| (member.port, member.weight)).collect();
                prop_assert_eq!(found, expected);
                // Groups are numbered as they are first met, switch by switch, and each stands once.
                let index = groups.index(node, destination);
                prop_assert!(index <= next);
                prop_assert_eq!(groups.switch_of[index], node);
                next = next.max(index + 1);
            }
        }
        prop_assert_eq!(next, groups.groups.len());
        for (index, group) in groups.groups.iter().enumerate() {
            let again = (0..index).any(|one| {
                groups.switch_of[one] == groups.switch_of[index] && groups.groups[one] == *group
            });
            prop_assert!(!again);
        }
    }
}
