//! Something for each pair that has had to do with each other.

use std::collections::HashMap;

/// Values by pair, in the order in which they were made.
pub(crate) struct Pairs<T> {
    known: HashMap<(u32, u32), u32>,
    all: Vec<T>,
}

impl<T> Default for Pairs<T> {
    fn default() -> Self {
        Self { known: HashMap::new(), all: Vec::new() }
    }
}

impl<T> Pairs<T> {
    /// The number of a pair's value, made if there is none.
    pub(crate) fn number(&mut self, one: u32, other: u32, make: impl FnOnce() -> T) -> u32 {
        let next = self.all.len() as u32;
        let number = *self.known.entry((one, other)).or_insert(next);
        if number == next {
            self.all.push(make());
        }
        number
    }

    /// The value of a pair, if it was made.
    pub(crate) fn of(&mut self, one: u32, other: u32) -> Option<&mut T> {
        let number = *self.known.get(&(one, other))?;
        self.get(number)
    }

    /// The value of this number.
    #[inline(always)]
    pub(crate) fn get(&mut self, number: u32) -> Option<&mut T> {
        self.all.get_mut(number as usize)
    }

    /// All values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.all.iter()
    }

    /// All values, to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.all.iter_mut()
    }
}
