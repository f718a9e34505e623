//! Bodies of plans: a group's control half ([`anabranch_split::control`]) in the layouts that programs read.

use crate::error::KernelError;
use crate::group::Group;
use crate::layout::{MEMBERS, SLOTS, SLOTS_LARGE, TURNS, Turns};
use crate::object::Object;
use anabranch_split::apportion::{gravity, reciprocal, turns};
use anabranch_split::control::{self, SlotTable};
use anabranch_split::picks::{Bounded, List as _, rendezvous, score};
use anabranch_split::{Members, PlanError, Weights};
use std::boxed::Box;
use std::format;
use std::vec::Vec;

/// Entries of scoring.
pub type Scores = Bounded<score::Entry, MEMBERS>;
/// Entries of rendezvous.
pub type Arrivals = Bounded<rendezvous::Entry, MEMBERS>;

/// A plan's body by its layout.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A table of 4,096 slots.
    Slots(Box<[u8; SLOTS]>),
    /// A table of 65,536 slots.
    SlotsLarge(Box<[u8; SLOTS_LARGE]>),
    /// Scores.
    Scores(Box<Scores>),
    /// Rendezvous.
    Arrivals(Box<Arrivals>),
    /// Turns.
    Turns(Box<Turns>),
}

/// Home of a group's slots ([`anabranch_split::control::SlotTable`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Home {
    pub(crate) slots: Body,
    /// Asked weights that it was taken at.
    pub(crate) asked: Vec<u64>,
}

impl Body {
    /// The body of a group; a table moves as few slots as possible from `before`, whose history is not known.
    ///
    /// If no member lives, everything stays as it was before: such a group drops its packets by its head, and nothing
    /// has moved when the first comes back.
    ///
    /// # Errors
    /// Weights that the scheme cannot carry.
    pub fn make(object: Object, group: &Group, before: Option<&Self>) -> Result<Self, KernelError> {
        Self::next(object, group, before, None).map(|(body, _)| body)
    }

    /// The body of a group, and the home of its slots if it has a table; that of the body before is `home`.
    ///
    /// # Errors
    /// As [`Self::make`].
    pub fn next(
        object: Object,
        group: &Group,
        before: Option<&Self>,
        home: Option<&Home>,
    ) -> Result<(Self, Option<Home>), KernelError> {
        let refuse = |why: PlanError| KernelError::new(format!("group {}", group.name), format!("{why}"));
        let members = asked(group).map_err(refuse)?;
        let weights = members.effective();
        let body = match object {
            Object::Slots | Object::Spray | Object::Flowlet => {
                return table(Self::small, Self::Slots, before, home, &members).map_err(refuse);
            }
            Object::SlotsLarge => {
                return table(Self::large, Self::SlotsLarge, before, home, &members).map_err(refuse);
            }
            Object::Score => {
                let entries =
                    if group.plain { gravity::plain_entries(&weights) } else { gravity::entries(&weights) };
                Self::Scores(Box::new(Bounded::new(&entries, score::Entry { salt: 0, weight: 0, member: 0 })))
            }
            Object::Rendezvous => {
                let entries = reciprocal::reciprocals(&weights).map_err(refuse)?;
                let filler =
                    rendezvous::Entry { salt: 0, reciprocal: 0, shift: 0, approximate: 0.0, member: 0 };
                Self::Arrivals(Box::new(Bounded::new(&entries, filler)))
            }
            Object::Cycle | Object::FlowCycle | Object::Presto => {
                let turns = in_turn(group, &weights).map_err(refuse)?;
                Self::Turns(Box::new(Bounded::new(&turns, 0)))
            }
        };
        Ok((body, None))
    }

    fn small(&self) -> Option<&[u8; SLOTS]> {
        if let Self::Slots(slots) = self { Some(slots) } else { None }
    }

    fn large(&self) -> Option<&[u8; SLOTS_LARGE]> {
        if let Self::SlotsLarge(slots) = self { Some(slots) } else { None }
    }

    /// Share of all packets, or connections, that each of `count` members really gets; these sum to 1.
    #[must_use]
    pub fn shares(&self, count: usize) -> Vec<f64> {
        match self {
            Self::Slots(table) => control::shares(table.iter().map(|&member| member.into()), count),
            Self::SlotsLarge(table) => control::shares(table.iter().map(|&member| member.into()), count),
            Self::Turns(turns) => control::shares(listed(turns).into_iter(), count),
            Self::Scores(entries) => gravity::entry_shares(&listed(entries), count),
            Self::Arrivals(entries) => reciprocal::shares(&listed(entries), count),
        }
    }

    /// Member of each slot, if it has a table.
    #[must_use]
    pub fn slots(&self) -> Vec<u16> {
        match self {
            Self::Slots(table) => table.iter().map(|&member| member.into()).collect(),
            Self::SlotsLarge(table) => table.iter().map(|&member| member.into()).collect(),
            Self::Scores(_) | Self::Arrivals(_) | Self::Turns(_) => Vec::new(),
        }
    }

    /// Members in turn, if it has turns.
    #[must_use]
    pub fn turns(&self) -> Vec<u16> {
        if let Self::Turns(turns) = self { listed(turns) } else { Vec::new() }
    }
}

/// Entries of a list.
fn listed<T: Copy, const N: usize>(list: &Bounded<T, N>) -> Vec<T> {
    let mut entries = Vec::with_capacity(list.len());
    list.each(|&entry| entries.push(entry));
    entries
}

/// Members as the library plans them. If none is alive, the plan is that of all: the group's head drops its packets.
pub(crate) fn asked(group: &Group) -> Result<Members, PlanError> {
    let weights = Weights::new(group.members.iter().map(|member| member.weight.into()).collect())?;
    if group.living().iter().all(|&weight| weight == 0) {
        return Ok(Members::all_up(weights));
    }
    Members::new(weights, group.members.iter().map(|member| member.up).collect())
}

/// Table of a group, which moves as few slots as possible from `before`, and its home.
fn table<const N: usize>(
    slots_of: fn(&Body) -> Option<&[u8; N]>,
    body: fn(Box<[u8; N]>) -> Body,
    before: Option<&Body>,
    home: Option<&Home>,
    members: &Members,
) -> Result<(Body, Option<Home>), PlanError> {
    let home = home.and_then(|home| Some((slots_of(&home.slots)?, &home.asked[..])));
    let table = match before.and_then(slots_of) {
        Some(slots) => SlotTable::resume(slots, home, members)?,
        None => SlotTable::new(members)?,
    };
    let (slots, home, asked) = table.into_parts();
    Ok((body(slots), Some(Home { slots: body(home), asked })))
}

/// Turns of the living: those of the group without the dead, or smooth ones by their weights.
fn in_turn(group: &Group, weights: &[u64]) -> Result<Vec<u16>, PlanError> {
    let given: Vec<u16> =
        group.turns.iter().copied().filter(|&turn| weights[usize::from(turn)] > 0).collect();
    if !given.is_empty() {
        return Ok(given);
    }
    turns::smooth_within(weights, TURNS as u32)
}

/// Shares that a scheme would really give the living members of a group; see [`Body::shares`].
///
/// # Errors
/// A group that no program carries, or weights that the scheme does not.
pub fn shares(object: Object, group: &Group) -> Result<Vec<f64>, KernelError> {
    group.check()?;
    Ok(Body::make(object, group, None)?.shares(group.members.len()))
}

/// Members in the turns that a cycle over the living members of a group has.
///
/// # Errors
/// A group that no program carries.
pub fn cycle(group: &Group) -> Result<Vec<u16>, KernelError> {
    group.check()?;
    Ok(Body::make(Object::Cycle, group, None)?.turns())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Member;
    use crate::layout::Output;
    use proptest::prelude::*;
    use std::string::ToString as _;

    fn group(weights: &[u32], up: &[bool]) -> Group {
        let members = weights
            .iter()
            .zip(up)
            .map(|(&weight, &up)| Member { target: 1, weight, up, gateway: None })
            .collect();
        Group {
            name: "one".into(),
            prefixes: Vec::new(),
            members,
            output: Output::Redirect,
            seed: 0,
            pause_ns: 0,
            turns: Vec::new(),
            plain: false,
        }
    }

    /// Largest distance of a share from its weight that a scheme's units make.
    fn unit(object: Object) -> f64 {
        match object {
            Object::Slots | Object::Spray | Object::Flowlet => 1.0 / SLOTS as f64,
            Object::SlotsLarge => 1.0 / SLOTS_LARGE as f64,
            Object::Score | Object::Rendezvous => 1e-6,
            Object::Cycle | Object::FlowCycle | Object::Presto => 1.0 / TURNS as f64,
        }
    }

    proptest! {
        #[test]
        fn shares_are_the_living_members_weights(
            weights in prop::collection::vec((0u32..1000, any::<bool>()), 1..=MEMBERS),
        ) {
            let (weights, up): (Vec<u32>, Vec<bool>) = weights.into_iter().unzip();
            let group = group(&weights, &up);
            prop_assume!(group.check().is_ok() && group.living().iter().any(|&weight| weight > 0));
            let sum: u64 = group.living().iter().sum();
            for object in Object::ALL {
                let shares = Body::make(object, &group, None).unwrap().shares(weights.len());
                prop_assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
                for (share, weight) in shares.iter().zip(group.living()) {
                    let asked = weight as f64 / sum as f64;
                    // Every member that weighs something gets one unit at least, at the others' cost.
                    let slack = unit(object) * MEMBERS as f64;
                    prop_assert!((share - asked).abs() <= slack, "{}: {share} for {asked}", object.name());
                    prop_assert_eq!(*share > 0.0, weight > 0);
                }
            }
        }
    }

    #[test]
    fn a_failure_moves_the_dead_members_slots_alone() {
        let before = Body::make(Object::Slots, &group(&[4, 3, 2], &[true; 3]), None).unwrap();
        let after =
            Body::make(Object::Slots, &group(&[4, 3, 2], &[true, false, true]), Some(&before)).unwrap();
        let (Body::Slots(old), Body::Slots(new)) = (&before, &after) else { panic!("tables") };
        assert!(old.iter().zip(new.iter()).all(|(old, new)| *old == 1 || old == new));
        assert!(new.iter().all(|&member| member != 1));
        let back = Body::make(Object::Slots, &group(&[4, 3, 2], &[true; 3]), Some(&after)).unwrap();
        assert_eq!(back, before, "who comes back has its own slots again");
        // With nobody left, all stays as it was.
        let dead = Body::make(Object::Slots, &group(&[4, 3, 2], &[false; 3]), Some(&before)).unwrap();
        assert_eq!(dead, before);
    }

    #[test]
    fn turns_that_are_given_stay_and_lose_the_dead() {
        let mut one = group(&[2, 1, 1], &[true, true, false]);
        one.turns = [0, 1, 0, 2].into();
        assert_eq!(Body::make(Object::Cycle, &one, None).unwrap().turns(), [0, 1, 0]);
        one.turns = [2].into();
        assert_eq!(Body::make(Object::Cycle, &one, None).unwrap().turns().len(), 3);
        let long = group(&[1_000_003, 400_000], &[true; 2]);
        assert_eq!(Body::make(Object::Cycle, &long, None).unwrap().turns().len(), TURNS);
    }

    #[test]
    fn plain_factors_split_as_open_vswitch_does() {
        let mut one = group(&[2, 1], &[true; 2]);
        one.plain = true;
        // The score graph of two: the lighter wins half of its weight's share (VALO Eq. 6).
        let shares = shares(Object::Score, &one).unwrap();
        assert!((shares[0] - 0.75).abs() < 1e-12 && (shares[1] - 0.25).abs() < 1e-12);
    }

    #[test]
    fn what_no_scheme_carries_is_refused_by_name() {
        let error = Body::make(Object::Rendezvous, &group(&[u32::MAX, 1], &[true; 2]), None);
        assert!(error.is_ok());
        assert!(
            shares(Object::Slots, &group(&[0, 0], &[true; 2])).unwrap_err().to_string().contains("group one")
        );
    }
}
