//! The control halves of the schemes that switches run: from weights to what `pick` reads.

use anabranch_split::PlanError;
use anabranch_split::apportion::{gravity, min_move, turns, wcmp};
use anabranch_split::scheme::{
    Cycle, Modulo, Scheme, Score, Score16, Slots, Uniform, mix, modulo, score, score16,
};

/// Slots of a min-move table.
const SLOTS: usize = 1 << 16;

/// A scheme together with its control half, as the simulator needs it.
pub(crate) trait Planned: Scheme<State: Default> {
    /// A plan as it is stored.
    type Stored: AsRef<Self::Plan>;
    /// What the control half is told beside weights.
    type Parameters;

    /// Weights to plan, none of them all zero. `old` is the plan it replaces.
    ///
    /// # Errors
    /// Weights that this scheme cannot hold.
    fn plan(
        parameters: &Self::Parameters,
        weights: &[u64],
        old: Option<&Self::Stored>,
    ) -> Result<Self::Stored, PlanError>;
}

impl Planned for Uniform {
    type Stored = Box<[u16]>;
    type Parameters = ();

    fn plan(_: &(), weights: &[u64], _old: Option<&Self::Stored>) -> Result<Self::Stored, PlanError> {
        Ok((0..).zip(weights).filter(|&(_, &weight)| weight > 0).map(|(member, _)| member).collect())
    }
}

/// A min-move table and the table its slots return to.
pub(crate) struct MinMoveTable {
    table: Box<[u8; SLOTS]>,
    home: Box<[u8; SLOTS]>,
}

impl AsRef<[u8; SLOTS]> for MinMoveTable {
    fn as_ref(&self) -> &[u8; SLOTS] {
        &self.table
    }
}

impl Planned for Slots<u8, SLOTS> {
    type Stored = MinMoveTable;
    type Parameters = ();

    fn plan(_: &(), weights: &[u64], old: Option<&MinMoveTable>) -> Result<MinMoveTable, PlanError> {
        if weights.len() > usize::from(u8::MAX) + 1 {
            return Err(PlanError::new(
                format!("table: min-move over {} next hops", weights.len()),
                "a switch has at most 256 next hops under min-move: use wcmp or valo",
            ));
        }
        match old {
            Some(old) => {
                let mut table = old.table.clone();
                min_move::rebalance(&mut table[..], &old.home[..], weights);
                Ok(MinMoveTable { table, home: old.home.clone() })
            }
            None => {
                let mut table = Box::new([0; SLOTS]);
                min_move::fill(&mut table[..], weights);
                Ok(MinMoveTable { home: table.clone(), table })
            }
        }
    }
}

/// Entries of a table that is indexed by `hash % length`.
pub(crate) struct ModuloEntries(modulo::ModuloTable<Box<[u16]>>);

impl AsRef<modulo::ModuloTable<Box<[u16]>>> for ModuloEntries {
    fn as_ref(&self) -> &modulo::ModuloTable<Box<[u16]>> {
        &self.0
    }
}

impl Planned for Modulo<Box<[u16]>> {
    type Stored = ModuloEntries;
    /// Most entries.
    type Parameters = u32;

    fn plan(&most: &u32, weights: &[u64], _old: Option<&ModuloEntries>) -> Result<ModuloEntries, PlanError> {
        let living = weights.iter().filter(|&&weight| weight > 0).count();
        let too_few = || {
            PlanError::new(
                format!("entries: {most} for {living} next hops"),
                format!("each needs one: give entries = {living} or more"),
            )
        };
        let counts = wcmp::greedy(weights, most).ok_or_else(too_few)?;
        let entries: Box<[u16]> = (0u16..)
            .zip(counts)
            .flat_map(|(member, count)| std::iter::repeat_n(member, count as usize))
            .collect();
        modulo::ModuloTable::new(entries).map(ModuloEntries).ok_or_else(too_few)
    }
}

impl Planned for Score {
    type Stored = Box<[score::Entry]>;
    type Parameters = ();

    fn plan(_: &(), weights: &[u64], _old: Option<&Self::Stored>) -> Result<Self::Stored, PlanError> {
        let factors = gravity::quantise(&gravity::gravity(weights), (1 << score::WEIGHT_BITS) - 1);
        Ok((0u16..)
            .zip(factors)
            .filter(|&(_, factor)| factor > 0)
            .map(|(member, weight)| score::Entry { salt: mix::salt(member), weight, member })
            .collect())
    }
}

impl Planned for Score16 {
    type Stored = Box<[score16::Bucket]>;
    type Parameters = ();

    fn plan(_: &(), weights: &[u64], _old: Option<&Self::Stored>) -> Result<Self::Stored, PlanError> {
        (0u16..)
            .zip(weights)
            .filter(|&(_, &weight)| weight > 0)
            .map(|(member, &weight)| {
                let weight = u16::try_from(weight).map_err(|_| {
                    PlanError::new(
                        format!("weight: {weight} of a next hop is above 65535"),
                        "Open vSwitch's weights have 16 bits: use smaller ones",
                    )
                })?;
                let salt = mix::open_vswitch::salt(u32::from(member) + 1);
                Ok(score16::Bucket { salt, weight, member })
            })
            .collect()
    }
}

impl Planned for Cycle {
    type Stored = Box<[u16]>;
    type Parameters = ();

    fn plan(_: &(), weights: &[u64], _old: Option<&Self::Stored>) -> Result<Self::Stored, PlanError> {
        turns::smooth(weights).map(Vec::into_boxed_slice)
    }
}
