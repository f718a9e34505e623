//! Draining: a member takes no new connections, and keeps those that it has until a deadline.

use super::{Group, Planned};
use crate::PlanError;
use crate::technique::{Lookup, Stateless};
use std::format;
use std::sync::Arc;
use std::vec;
use std::vec::Vec;

/// Plan before a drain, by which connections are picked that began before it.
#[derive(Clone)]
pub(super) struct Earlier {
    /// Serial number of the first plan with the drain.
    pub(super) before: u64,
    /// Time from which on the plan is of no use any more.
    pub(super) until_ns: u64,
    technique: Arc<dyn Stateless>,
    lookup: Lookup,
}

impl Earlier {
    /// Member of one packet of a flow.
    pub(super) fn pick(&self, flow: u64) -> u16 {
        super::picked(&self.lookup, &*self.technique, flow)
    }
}

impl Group {
    /// Drains a member: no new connection goes to it, and all connections of the group stay where they are until
    /// `until_ns`, as long as their member is up. The [`super::Connections`] of each thread tell new from old;
    /// [`Self::pick`] picks as for new ones. The member weighs nothing from now on, also after the deadline, until
    /// [`Self::undrain`]; it keeps its home, as one that has failed does. Later updates leave it draining. Where no other
    /// member is up any more it takes new connections after all.
    ///
    /// A snapshot has the present plan alone, in which the member counts as down; `adopt` ends all drains.
    ///
    /// # Errors
    /// A technique that remembers flows, which keep their member there anyway; no such member; one that drains already;
    /// a deadline that is not after `now_ns`; and no other member that is up with a positive weight.
    pub fn drain(&self, member: u16, now_ns: u64, until_ns: u64) -> Result<(), PlanError> {
        let plan = self.stateless("drain")?;
        if until_ns <= now_ns {
            return Err(PlanError::new(
                format!("until_ns: {until_ns} is not after now, {now_ns}"),
                "give a later deadline, or fail the member where its connections may move at once",
            ));
        }
        plan.update(|planned| {
            let drains = switched(planned, member, true)?;
            let mut next = planned.next(planned.members.clone(), drains)?;
            if !next.members.is_draining(member.into()) {
                return Err(PlanError::new(
                    format!("drain: path {} is the last that takes connections", u32::from(member) + 1),
                    "undrain another first, or bring one up",
                ));
            }
            next.earlier.retain(|earlier| now_ns < earlier.until_ns);
            next.earlier.push(Earlier {
                before: next.serial,
                until_ns,
                technique: Arc::clone(&planned.technique),
                lookup: planned.lookup.clone(),
            });
            Ok(next)
        })
    }

    /// Ends the drain of a member: it takes connections again, its own slots first.
    ///
    /// # Errors
    /// A technique that remembers flows, no such member, and one that does not drain.
    pub fn undrain(&self, member: u16) -> Result<(), PlanError> {
        let plan = self.stateless("undrain")?;
        plan.update(|planned| planned.next(planned.members.clone(), switched(planned, member, false)?))
    }
}

/// Flags of the draining members, that of `member` the other way.
fn switched(planned: &Planned, member: u16, drains: bool) -> Result<Vec<bool>, PlanError> {
    let (verb, state) = if drains { ("drain", "drains already") } else { ("undrain", "does not drain") };
    let number = u32::from(member) + 1;
    let mut flags = vec![false; planned.members.len()];
    flags.iter_mut().zip(&planned.drains).for_each(|(flag, &drains)| *flag = drains);
    match flags.get_mut(usize::from(member)) {
        Some(flag) if *flag != drains => *flag = drains,
        Some(_) => {
            return Err(PlanError::new(
                format!("{verb}: path {number} {state}"),
                "each drain ends by one undrain",
            ));
        }
        None => {
            let paths = planned.members.len();
            return Err(PlanError::new(
                format!("{verb}: no path {number}"),
                format!("the group has {paths}"),
            ));
        }
    }
    Ok(flags)
}
