//! Flows pinned to paths beforehand, so that what they share is exactly as the weights say.

use crate::path_book::PathBook;
use anabranch_fabric::{Change, Fabric, LinkState};
use anabranch_plan::{Groups, Weighing};
use anabranch_sim::SimulationError;
use anabranch_split::apportion::quotas;
use anabranch_split::picks::deficit::first_due;
use anabranch_traffic::{Flow, FlowSource, Start};
use std::collections::HashMap;

/// Pins the flows of each pair of leaves to their paths so that, in the order in which they begin, every prefix is within
/// one flow of what the weights say (flows that begin after others come last, by number). Weights are those of the links
/// after the changes at time zero. Flows that are pinned stay so.
pub(crate) fn spread_exactly(
    fabric: &Fabric,
    flows: &dyn FlowSource,
    weighing: &Weighing,
    changes: &[Change],
) -> Result<Vec<Flow>, SimulationError> {
    let mut state = LinkState::of(fabric);
    for change in changes.iter().filter(|change| change.at_ps == 0) {
        state.apply(change.what);
    }
    let groups = Groups::plan(fabric, &state, weighing);
    let mut book = PathBook::new(fabric)?;
    let mut spread: Vec<Flow> = flows.pass().collect();
    let mut order: Vec<usize> = (0..spread.len()).collect();
    order.sort_by_key(|&index| match spread[index].start {
        Start::At(at_ps) => at_ps,
        Start::After { .. } | Start::AfterJob { .. } | Start::Ready { .. } => u64::MAX,
    });
    let mut pairs: HashMap<(u32, u32), Pair> = HashMap::new();
    for index in order {
        let flow = &spread[index];
        let (from, to) = (book.leaf_of(flow.src), book.leaf_of(flow.dst));
        if from == to || flow.path.is_some() {
            continue;
        }
        let pair = pairs.entry((from, to)).or_insert_with(|| {
            let routes = &book.routes(from, to).all;
            let weights: Vec<u64> =
                routes.iter().map(|route| path_weight(fabric, &groups, &route.ports, to)).collect();
            Pair { periods: quotas::periods(&weights), placed: vec![0; weights.len()], total: 0 }
        });
        let path = first_due(&pair.periods, &pair.placed, pair.total);
        pair.placed[usize::from(path)] += 1;
        pair.total += 1;
        spread[index].path = Some(path.into());
    }
    Ok(spread)
}

/// The paths of two leaves: when each is due, and the flows it has.
struct Pair {
    periods: Vec<u64>,
    placed: Vec<u32>,
    total: u64,
}

/// Weight of a path, out of a thousand million: the product of its members' shares.
fn path_weight(fabric: &Fabric, groups: &Groups, ports: &[u32], to: u32) -> u64 {
    let share = |port: u32| {
        let node = fabric.ports()[port as usize].from;
        let members = &groups.group(node, to).members;
        let sum: u64 = members.iter().map(|member| member.weight).sum();
        let own = members.iter().find(|member| member.port == port).map_or(0, |member| member.weight);
        if sum == 0 { 1.0 } else { own as f64 / sum as f64 }
    };
    (1e9 * ports.iter().map(|&port| share(port)).product::<f64>()).round() as u64
}
