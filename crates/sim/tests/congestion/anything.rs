//! Any fabric, any failures: nothing panics, nothing is lost unaccounted, and what has a way arrives.

use super::setup::*;
use anabranch_fabric::topology::{Clos, LeafSpine, Vl2};
use anabranch_fabric::{Change, Fabric, What};
use anabranch_plan::Scheme;
use anabranch_split::scheme::{conga, conweave, hula};
use proptest::prelude::*;

fn fabrics() -> impl Strategy<Value = (Fabric, bool)> {
    let leaf_spine =
        (2u32..5, 1u32..4, 1u32..3, 1u32..3).prop_map(|(leaves, spines, hosts_per_leaf, parallel_links)| {
            let shape = LeafSpine { leaves, spines, hosts_per_leaf, parallel_links, ..LeafSpine::default() };
            (shape.build().unwrap(), true)
        });
    let clos = (1u32..3, 1u32..3, 1u32..3, 1u32..4).prop_map(
        |(pods, leaves_per_pod, aggregations_per_pod, cores_per_aggregation)| {
            let shape = Clos {
                pods: pods + 1,
                leaves_per_pod,
                aggregations_per_pod,
                cores_per_aggregation,
                ..Clos::default()
            };
            (shape.build().unwrap(), false)
        },
    );
    let vl2 = Just((Vl2::default().build().unwrap(), false));
    prop_oneof![4 => leaf_spine, 3 => clos, 1 => vl2]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn what_has_a_way_arrives(
        (fabric, two_tiers) in fabrics(),
        which in 0usize..3,
        // Link, time of its death in us, and for how long.
        failures in prop::collection::vec((any::<u32>(), 0u64..3_000, 1u64..20_000), 0..6),
        routing_delay_us in prop::sample::select(vec![0u64, 50, 2_000]),
        impatient in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let scheme = match which {
            0 if two_tiers => Scheme::Conga(conga::Parameters { gap_ns: if impatient { 1_000 } else { 500_000 }, ..Default::default() }),
            1 => Scheme::ConWeave(conweave::Parameters {
                extra_reply_ns: if impatient { 0 } else { 4_000 },
                ..Default::default()
            }),
            _ => Scheme::Hula(hula::Parameters { gap_ns: if impatient { 1_000 } else { 100_000 }, ..Default::default() }),
        };
        let flows = web_search(&fabric, 0.4, 12, seed);
        let mut settings = settings(scheme);
        settings.seed = seed;
        settings.routing_delay_ps = routing_delay_us * PS_PER_US;
        let hosts = fabric.hosts();
        let switch_ports: Vec<u32> = (0..)
            .zip(fabric.ports())
            .filter(|(_, port)| port.from >= hosts && port.to >= hosts)
            .map(|(index, _)| index)
            .collect();
        for (link, at_us, for_us) in failures {
            let port = switch_ports[link as usize % switch_ports.len()];
            settings.changes.extend(both(&fabric, at_us, port, What::PortDown));
            settings.changes.extend(both(&fabric, at_us + for_us, port, What::PortUp));
        }
        // Two deaths of a link may overlap, and its return undoes both: in the end all is well.
        let last_ps = settings.changes.iter().map(|change: &Change| change.at_ps).max().unwrap_or(0);
        settings.end_ps = last_ps + 4_000_000 * PS_PER_US;
        let outcome = run(&fabric, &flows, &settings);
        mean_fct_us(&outcome);
    }
}
