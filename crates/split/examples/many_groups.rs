//! Many groups over the same next hops, as a router has them: one next hop fails, and every group that uses it changes.
//!
//! `cargo run --release --example many_groups`

use anabranch_split::{Batch, Group, Members, Parameters, PlanError, Weights};

/// Next hops of the router.
const NEXT_HOPS: usize = 64;
/// Members of each group.
const MEMBERS: usize = 8;

fn main() -> Result<(), PlanError> {
    let outcome = run(2_000, 1_000)?;
    #[expect(clippy::print_stdout, reason = "an example shows what it did")]
    {
        println!("{outcome:?}");
    }
    Ok(())
}

/// What the failure of one next hop did.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Groups that changed.
    pub(crate) changed: usize,
    /// Flows that the next hop had in all groups.
    pub(crate) lost: usize,
    /// Flows that are elsewhere now.
    pub(crate) moved: usize,
    /// Bytes of all plans.
    pub(crate) plan_bytes: usize,
}

/// Group `number`: its next hops, in the order of its members, and weights from 1 to 5.
fn route(number: usize) -> Result<(Vec<usize>, Group), PlanError> {
    let next_hops = (0..MEMBERS).map(|member| (number * 7 + member * 11) % NEXT_HOPS).collect();
    let weights = (0..MEMBERS).map(|member| ((number + member) % 5 + 1) as u64).collect();
    let members = Members::all_up(Weights::new(weights)?);
    // Its plan is 24 bytes a member, and a function of the weights: right for many groups. A min-move group has a table
    // of 64 KiB (4 KiB with slots=4096), and picks faster.
    Ok((next_hops, Group::new("log-rendezvous", &members, &Parameters::default())?))
}

/// Fails next hop 5 of a router with so many groups, each of which has `flows`.
pub(crate) fn run(groups: usize, flows: u64) -> Result<Outcome, PlanError> {
    let routes = (0..groups).map(route).collect::<Result<Vec<_>, _>>()?;
    let keys = (1..=flows).map(|flow| flow.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect::<Vec<_>>();
    let keys = keys.iter().map(|key| key ^ (key >> 32)).collect::<Vec<_>>();
    let picks = |group: &Group| {
        let mut members = vec![0; keys.len()];
        group.pick_batch(&Batch::of_flows(&keys), &mut members);
        members
    };
    let mut outcome = Outcome { changed: 0, lost: 0, moved: 0, plan_bytes: 0 };
    for (next_hops, group) in &routes {
        outcome.plan_bytes += group.state_bytes();
        let Some(failed) = next_hops.iter().position(|&next_hop| next_hop == 5) else { continue };
        let before = picks(group);
        group.update_with(|members| {
            let mut up = members.up().to_vec();
            up[failed] = false;
            Members::new(members.weights().clone(), up)
        })?;
        outcome.changed += 1;
        outcome.lost += before.iter().filter(|&&member| usize::from(member) == failed).count();
        outcome.moved += before.iter().zip(picks(group)).filter(|&(&before, after)| before != after).count();
    }
    Ok(outcome)
}
