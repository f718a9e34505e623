//! `blank-scheme`: a load balancer for anabranch's simulator, in a crate of its own.
//!
//! What stands here is a start that works: the power of two choices. Two next hops are drawn in
//! proportion to their weights, and the one whose queue is shorter by a margin, or else the first,
//! takes the packet. Put your own rule in its place; `tests/picks.csv` then needs your own
//! examples, and `tests/properties.rs` your own laws.
//!
//! A scheme has two halves. [`Planned::plan`] is the slow one: it turns weights into a [`Plan`]
//! whenever they change, and may allocate, sort and refuse. [`Pick::pick`] is the fast one: it
//! runs for every decision of every switch and reads the plan; a few dozen instructions, no
//! allocation, nothing that panics. What a switch must remember between decisions is the scheme's
//! `State`, one for each group of next hops.

use anabranch_balancers::Planned;
use anabranch_split::{Env, Packet, Pick, PlanError, capability, random_below};

/// The scheme: a name for its functions, without data of its own.
pub struct BlankScheme;

/// Settings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parameters {
    /// Bytes by which the second queue must be shorter to be preferred.
    pub margin_bytes: u32,
}

/// Plan: the data that a decision reads.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Sums of the weights up to and including each member's: a number below the last of them
    /// selects a member.
    bounds: Box<[u32]>,
    margin_bytes: u32,
}

impl Plan {
    /// A member, as likely as it weighs. One of weight zero adds nothing to the sums and is never
    /// found.
    #[inline(always)]
    fn draw<E: Env>(&self, env: &mut E) -> u16 {
        let point = random_below(env, self.bounds.last().copied().unwrap_or(0));
        self.bounds.partition_point(|&bound| bound <= point) as u16
    }
}

/// Plans are stored as they are.
impl AsRef<Self> for Plan {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl Pick for BlankScheme {
    const NAME: &'static str = "blank-scheme";
    /// Capabilities that the environment must give; the scheme compiles only for one that does.
    const NEEDS: u32 = capability::RANDOM | capability::BACKLOG;
    type Plan = Plan;
    type State = ();
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(plan: &Plan, _state: &mut (), _packet: &mut Packet, env: &mut E) -> u16 {
        let first = plan.draw(env);
        let second = plan.draw(env);
        let shorter =
            env.backlog_bytes(second).saturating_add(plan.margin_bytes) < env.backlog_bytes(first);
        if shorter { second } else { first }
    }
}

impl Planned for BlankScheme {
    /// The same hash does not get the same member: where flows, flowlets or flowcells stay
    /// together, the switch remembers them.
    const STICKY: bool = false;
    /// Picks do not look at the packet's hash.
    const HASHES: bool = false;
    type Stored = Plan;
    type Parameters = Parameters;

    fn plan(
        parameters: &Parameters,
        weights: &[u64],
        _old: Option<&Plan>,
    ) -> Result<Plan, PlanError> {
        let mut sum = 0u64;
        let mut bounds = Vec::with_capacity(weights.len());
        for &weight in weights {
            sum = sum.saturating_add(weight);
            bounds.push(u32::try_from(sum).map_err(|_| {
                PlanError::new(
                    format!("weights: their sum exceeds {}", u32::MAX),
                    "use smaller weights",
                )
            })?);
        }
        Ok(Plan {
            bounds: bounds.into(),
            margin_bytes: parameters.margin_bytes,
        })
    }
}
