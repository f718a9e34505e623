//! Bounded load: no member takes a connection beyond `1 + eps` of its share of those that live (Mirrokni, Thorup &
//! Zadimoghaddam 2018, "Consistent Hashing with Bounded Loads", with weights).

use super::{Group, Planned};
use crate::PlanError;
use std::format;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Unit in which `eps` counts: 2^-20.
const UNIT: f64 = (1u64 << 20) as f64;
const EPS_MAX: f64 = 1024.0;
/// Connections at most, so that all products stay below 2^128.
const CONNECTIONS_MAX: u64 = 1 << 44;
/// Attempts with other hashes of the key before members are tried in turn. Members below their bound have at least
/// `eps / (1 + eps)` of the weight, so at `eps` 0.1 one key in 400 goes so far where all others are full.
const ATTEMPTS: u64 = 64;

/// Bounds of all members for one more connection.
struct Bounds<'a> {
    planned: &'a Planned,
    loads: &'a [u64],
    /// `2^20 W`, and `(2^20 (1 + eps)) (m + 1)`.
    scale: u128,
    allowed: u128,
}

impl Bounds<'_> {
    /// Whether a member may take the connection: its load is below `ceil((1 + eps) w / W (m + 1))`.
    fn admits(&self, member: u16) -> bool {
        let member = usize::from(member);
        let weight = u128::from(self.planned.members.weight_left(member));
        u128::from(self.loads[member]) * self.scale < self.allowed * weight
    }
}

impl Group {
    /// Picks a member for a new connection so that none gets more than `ceil((1 + eps) w / W (m + 1))` of them, where `m`
    /// is the number of live connections on members that are up, `w` the member's weight and `W` that of all which are
    /// up. `loads` has the live connections of each member. It is the member that [`Self::pick`] picks while that one is
    /// below its bound. Otherwise `log-rendezvous` takes the best of those below theirs; the others pick again by other
    /// hashes of the key, and after 64 of them take the next member below its bound.
    ///
    /// It says nothing about the connection's later packets: remember its member, as proxies do.
    ///
    /// # Errors
    /// A technique that remembers flows, `eps` outside 0.000001 to 1024 (it counts in units of 2^-20, rounded down),
    /// another number of loads than of members, and 2^44 connections or more.
    pub fn pick_bounded(&self, flow: u64, loads: &[u64], eps: f64) -> Result<u16, PlanError> {
        let plan = self.stateless("pick_bounded")?;
        if !(1.0..=EPS_MAX * UNIT).contains(&(eps * UNIT)) {
            return Err(PlanError::new(
                format!("eps: {eps} is no bound"),
                "give the part of its share that a member may have above it, as 0.25; at least 0.000001",
            ));
        }
        let planned = plan.load();
        let members = &planned.members;
        if loads.len() != members.len() {
            return Err(PlanError::new(
                format!("loads: {} for {} paths", loads.len(), members.len()),
                "give one number of live connections per path",
            ));
        }
        let (mut live, mut sum) = (0u64, 0u64);
        for (member, &load) in loads.iter().enumerate() {
            let weight = members.weight_left(member);
            sum += weight;
            live = live.saturating_add(if weight > 0 { load } else { 0 });
        }
        if live >= CONNECTIONS_MAX {
            return Err(PlanError::new(
                format!("loads: {live} live connections"),
                "give less than 2^44 in all",
            ));
        }
        let parts = u128::from((1 << 20) + (eps * UNIT) as u64);
        let bounds = Bounds {
            planned: &planned,
            loads,
            scale: u128::from(sum) << 20,
            allowed: parts * u128::from(live + 1),
        };
        Ok(bounds.pick(flow))
    }
}

impl Bounds<'_> {
    /// The first member below its bound in the order of this flow. There is one: the bounds of all exceed their loads.
    fn pick(&self, flow: u64) -> u16 {
        let own = self.planned.pick(flow);
        if self.admits(own) {
            return own;
        }
        let next = self.planned.technique.pick_among(flow, &|member| self.admits(member));
        next.or_else(|| self.again(flow)).unwrap_or(own)
    }

    /// A member below its bound, by other hashes of the flow and then in turn.
    fn again(&self, flow: u64) -> Option<u16> {
        let hash = |attempt| xxh3_64_with_seed(&flow.to_le_bytes(), attempt);
        let members = self.planned.members.len() as u16;
        let first = (hash(0) % u64::from(members)) as u16;
        let picked = (1..=ATTEMPTS).map(|attempt| self.planned.pick(hash(attempt)));
        picked.chain((first..members).chain(0..first)).find(|&member| self.admits(member))
    }
}
