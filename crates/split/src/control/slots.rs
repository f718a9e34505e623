//! Min-move slots of one group: the table that picks read, and the home its slots return to.

use super::check_members;
use crate::apportion::min_move::{fill, rebalance};
use crate::apportion::webster::webster;
use crate::history::{counts, expect, long_words, refused, words};
use crate::{Members, PlanError, Weights};
use std::boxed::Box;
use std::sync::Arc;
use std::vec;
use std::vec::Vec;

/// Table of `N` slots, a power of two, with the history that re-planning keeps.
///
/// One rule decides the home of the slots wherever the table runs: home is the table of the asked weights, taken when
/// nothing was missing. Failures, and whatever else takes a part of a member for a time, leave it alone, so that a member
/// that comes back gets its own flows back; other asked weights move it as soon as all of them are met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotTable<P, const N: usize> {
    slots: Arc<[P; N]>,
    home: Box<[P; N]>,
    /// Asked weights that home was taken at.
    asked: Vec<u64>,
}

impl<P, const N: usize> SlotTable<P, N> {
    /// Slots as picks read them.
    #[inline(always)]
    #[must_use]
    pub fn slots(&self) -> &[P; N] {
        &self.slots
    }

    /// Slots as long as somebody picks by them, whatever becomes of the table.
    #[must_use]
    pub fn shared(&self) -> Arc<[P; N]> {
        Arc::clone(&self.slots)
    }

    /// Asked weights of the home.
    #[must_use]
    pub fn asked(&self) -> &[u64] {
        &self.asked
    }

    /// Bytes of home and its weights, which updates read and picks do not.
    #[must_use]
    pub fn history_bytes(&self) -> usize {
        size_of_val(&*self.home) + size_of_val(&self.asked[..])
    }
}

impl<P: Copy + Default + TryFrom<u16> + Into<u16>, const N: usize> SlotTable<P, N> {
    /// Table of a group without a history. A member that is missing from the start has a home too.
    ///
    /// # Errors
    /// More members than slots of this width can name.
    pub fn new(members: &Members) -> Result<Self, PlanError> {
        let asked = members.weights().as_slice();
        check::<P>(asked.len())?;
        let mut home = boxed();
        fill(&mut home[..], asked);
        let mut table = Self { slots: home.clone().into(), home, asked: asked.to_vec() };
        table.plan(members)?;
        Ok(table)
    }

    /// Continues `slots` as they were read from a switch, with the home that was kept beside them and the weights that it
    /// was taken at. Where no home was kept it is the one of a new table. Slots that name members beyond the last are not
    /// continued.
    ///
    /// # Errors
    /// More members than slots of this width can name.
    pub fn resume(
        slots: &[P; N],
        home: Option<(&[P; N], &[u64])>,
        members: &Members,
    ) -> Result<Self, PlanError> {
        let mut table = Self::new(&Members::all_up(members.weights().clone()))?;
        let fits = |slots: &[P; N]| slots.iter().all(|&member| usize::from(member.into()) < members.len());
        if fits(slots) {
            Arc::make_mut(&mut table.slots).copy_from_slice(slots);
        }
        if let Some((home, asked)) = home.filter(|(home, _)| fits(slots) && fits(home)) {
            table.home.copy_from_slice(home);
            table.asked = asked.to_vec();
        }
        table.plan(members)?;
        Ok(table)
    }

    /// The table with the history that it left as [`Self::history`].
    ///
    /// # Errors
    /// Bytes that are no history of a table of `members`.
    pub fn recalled(members: &Members, bytes: &[u8]) -> Result<Self, PlanError> {
        check::<P>(members.len())?;
        let width = size_of::<P>();
        let tables = bytes.split_at_checked(N * width).and_then(|(slots, rest)| {
            rest.split_at_checked(N * width).map(|(home, asked)| (slots, home, asked))
        });
        let Some((slots, home, asked)) = tables else { return Err(refused("not two tables of the slots")) };
        expect(asked.len().is_multiple_of(8), "asked weights of a broken number of bytes")?;
        let asked = Weights::new(long_words(asked).collect())?;
        expect(asked.as_slice().len() <= members.len(), "more asked weights than paths")?;
        expect(!members.is_whole() || asked == *members.weights(), "asked weights that are not those asked")?;
        Ok(Self {
            slots: table(slots, &members.effective())?.into(),
            home: table(home, asked.as_slice())?,
            asked: asked.as_slice().to_vec(),
        })
    }

    /// Slots, home and the weights that home was taken at, as bytes: little-endian, a slot as wide as in memory.
    #[must_use]
    pub fn history(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(2 * N * size_of::<P>() + 8 * self.asked.len());
        for &slot in self.slots.iter().chain(&*self.home) {
            let slot: u16 = slot.into();
            bytes.extend(&slot.to_le_bytes()[..size_of::<P>()]);
        }
        bytes.extend(self.asked.iter().flat_map(|weight| weight.to_le_bytes()));
        bytes
    }

    /// Plans anew by the fewest moves. Members keep their numbers; a longer list appends members.
    ///
    /// # Errors
    /// More members than slots of this width can name; the table stands.
    pub fn plan(&mut self, members: &Members) -> Result<(), PlanError> {
        check::<P>(members.len())?;
        rebalance(&mut Arc::make_mut(&mut self.slots)[..], &self.home[..], &members.effective());
        let asked = members.weights().as_slice();
        if members.is_whole() && self.asked != asked {
            self.home.copy_from_slice(&self.slots[..]);
            self.asked = asked.to_vec();
        }
        Ok(())
    }

    /// Slots, home, and the asked weights of the home.
    #[must_use]
    pub fn into_parts(self) -> (Box<[P; N]>, Box<[P; N]>, Vec<u64>) {
        let mut slots = boxed();
        slots.copy_from_slice(&self.slots[..]);
        (slots, self.home, self.asked)
    }

    /// Share of each of `members`.
    #[must_use]
    pub fn shares(&self, members: usize) -> Vec<f64> {
        super::shares(self.slots.iter().map(|&member| member.into()), members)
    }
}

impl<const N: usize> SlotTable<u8, N> {
    /// The same table with slots that name any member.
    #[must_use]
    pub fn widened(&self) -> SlotTable<u16, N> {
        let widen = |from: &[u8; N]| {
            let mut words = boxed::<u16, N>();
            words.iter_mut().zip(from).for_each(|(word, &byte)| *word = u16::from(byte));
            words
        };
        SlotTable { slots: widen(&self.slots).into(), home: widen(&self.home), asked: self.asked.clone() }
    }
}

/// Table of slots as they were written, with the shares of `weights`.
fn table<P: Copy + Default + TryFrom<u16>, const N: usize>(
    bytes: &[u8],
    weights: &[u64],
) -> Result<Box<[P; N]>, PlanError> {
    let narrow = bytes.iter().map(|&slot| u16::from(slot));
    let members = if size_of::<P>() == 1 { narrow.collect() } else { words(bytes).collect::<Vec<_>>() };
    let counts = counts(members.iter().copied(), weights.len())?;
    expect(counts == webster(weights, N as u32), "a table whose shares are not those of its weights")?;
    let mut table = boxed();
    for (slot, member) in table.iter_mut().zip(members) {
        *slot = P::try_from(member).map_err(|_| refused("a slot too wide"))?;
    }
    Ok(table)
}

/// Refuses members that a slot cannot name.
fn check<P: TryFrom<u16>>(members: usize) -> Result<(), PlanError> {
    let most =
        if P::try_from(u16::MAX).is_ok() { usize::from(u16::MAX) + 1 } else { usize::from(u8::MAX) + 1 };
    check_members("a min-move table with slots of one byte", members, most)
}

/// `N` zeros on the heap, never on the stack.
fn boxed<P: Copy + Default, const N: usize>() -> Box<[P; N]> {
    match vec![P::default(); N].into_boxed_slice().try_into() {
        Ok(table) => table,
        Err(_) => unreachable!("a vector of N entries is an array of N"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Table = SlotTable<u8, 4096>;

    fn members(weights: &[u64], dead: &[usize]) -> Members {
        let up = (0..weights.len()).map(|member| !dead.contains(&member)).collect();
        Members::new(Weights::new(weights.to_vec()).unwrap(), up).unwrap()
    }

    #[test]
    fn a_member_that_is_missing_from_the_start_gets_the_slots_of_one_that_is_not() {
        let whole = Table::new(&members(&[4, 3, 2], &[])).unwrap();
        let mut late = Table::new(&members(&[4, 3, 2], &[1])).unwrap();
        assert!(late.slots().iter().all(|&member| member != 1));
        late.plan(&members(&[4, 3, 2], &[])).unwrap();
        assert_eq!(late, whole);
    }

    #[test]
    fn other_asked_weights_move_home_when_all_are_met_and_what_is_missing_does_not() {
        let mut table = Table::new(&members(&[4, 3, 2], &[])).unwrap();
        table.plan(&members(&[1, 3, 2], &[2])).unwrap();
        assert_eq!(table.asked(), [4, 3, 2]);
        table.plan(&members(&[1, 3, 2], &[])).unwrap();
        let whole = table.clone();
        assert_eq!(table.asked(), [1, 3, 2]);
        for dead in 0..3 {
            table.plan(&members(&[1, 3, 2], &[dead])).unwrap();
            table.plan(&members(&[1, 3, 2], &[])).unwrap();
            assert_eq!(table, whole, "member {dead} has its own slots again");
        }
        // A part of a member that goes and returns moves nothing for good either.
        let asked = Weights::new([1, 3, 2].into()).unwrap();
        table.plan(&Members::lessened(asked.clone(), Weights::new([1, 1, 2].into()).unwrap())).unwrap();
        assert_ne!(table, whole);
        table.plan(&Members::all_up(asked)).unwrap();
        assert_eq!(table, whole);
    }

    #[test]
    fn a_table_whose_history_is_lost_is_continued() {
        let mut table = Table::new(&members(&[4, 3, 2], &[])).unwrap();
        table.plan(&members(&[4, 3, 2], &[0])).unwrap();
        let read = *table.slots();
        assert_eq!(*Table::resume(&read, None, &members(&[4, 3, 2], &[0])).unwrap().slots(), read);
        let back = Table::resume(&read, None, &members(&[4, 3, 2], &[])).unwrap();
        assert_eq!(back, Table::new(&members(&[4, 3, 2], &[])).unwrap());
        let fewer = Table::resume(&read, None, &members(&[1, 1], &[])).unwrap();
        assert_eq!(fewer, Table::new(&members(&[1, 1], &[])).unwrap());
    }

    #[test]
    fn members_beyond_a_byte_take_wider_slots() {
        let many = members(&[1; 257], &[]);
        let error = Table::new(&many).unwrap_err();
        assert_eq!(error.problem, "weights: 257 members for a min-move table with slots of one byte");
        let mut narrow = Table::new(&members(&[1; 256], &[])).unwrap();
        assert!(narrow.plan(&many).is_err());
        let mut wide = narrow.widened();
        wide.plan(&many).unwrap();
        assert!(wide.slots().contains(&256));
    }

    proptest! {
        #[test]
        fn a_member_that_returns_has_its_own_slots_again(
            weights in prop::collection::vec(1u64..1000, 2..9),
            changed in prop::collection::vec(1u64..1000, 2..9),
            dead in 0usize..9,
        ) {
            let count = weights.len().min(changed.len());
            let (weights, changed, dead) = (&weights[..count], &changed[..count], dead % count);
            let mut table = Table::new(&members(weights, &[])).unwrap();
            table.plan(&members(changed, &[])).unwrap();
            let whole = table.clone();
            table.plan(&members(changed, &[dead])).unwrap();
            table.plan(&members(changed, &[])).unwrap();
            prop_assert_eq!(table, whole);
        }
    }
}
