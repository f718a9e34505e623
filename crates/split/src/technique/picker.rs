//! A plan with the scheme that reads it, its type forgotten: one dynamic call per batch, none per packet.

use super::Lookup;
use crate::picks::modulo::ModuloTable;
use crate::picks::{self, Modulo, Slots};
use crate::{Pick, Still};
use std::boxed::Box;
use std::sync::Arc;
use std::vec::Vec;

/// A planned stateless scheme.
pub(super) trait Picker: Send + Sync {
    /// The member of every flow, in order.
    fn pick(&self, flows: &[u64], out: &mut [u16]);

    /// Bytes of the plan.
    fn bytes(&self) -> usize;

    /// Table that decides, if there is one.
    fn lookup(&self) -> Lookup;
}

struct Planned<S: Pick> {
    plan: Arc<S::Plan>,
    lookup: Lookup,
    /// Bytes that the plan points to.
    behind: usize,
}

impl<S: Pick<State = ()>> Picker for Planned<S>
where
    S::Plan: Send + Sync,
{
    fn pick(&self, flows: &[u64], out: &mut [u16]) {
        picks::each::<S, _>(&self.plan, &mut (), &mut Still, flows, out);
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.plan) + self.behind
    }

    fn lookup(&self) -> Lookup {
        self.lookup.clone()
    }
}

/// A plan that holds everything, or points to `behind` bytes.
pub(super) fn planned<S: Pick<State = ()> + 'static>(plan: Box<S::Plan>, behind: usize) -> Box<dyn Picker>
where
    S::Plan: Send + Sync,
{
    Box::new(Planned::<S> { plan: plan.into(), lookup: Lookup::None, behind })
}

/// A plan that is a table.
fn tabled<S: Pick<State = ()> + 'static>(
    plan: Box<S::Plan>,
    behind: usize,
    lookup: impl FnOnce(Arc<S::Plan>) -> Lookup,
) -> Box<dyn Picker>
where
    S::Plan: Send + Sync + Sized,
{
    let plan: Arc<S::Plan> = plan.into();
    Box::new(Planned::<S> { lookup: lookup(Arc::clone(&plan)), plan, behind })
}

/// `hash % length` over `entries` (not empty), by the cheapest scheme that computes it: a mask for the powers of two
/// from 16 to 65536, in one byte per slot up to 256 members.
pub(super) fn table(entries: Vec<u16>) -> Box<dyn Picker> {
    macro_rules! masked {
        ($($length:literal)*) => {
            match entries.len() {
                $($length => {
                    let narrow = entries.iter().map(|&m| u8::try_from(m)).collect::<Result<Box<[u8]>, _>>();
                    return match narrow.map(<Box<[u8; $length]>>::try_from) {
                        Ok(Ok(plan)) => tabled::<Slots<u8, $length>>(plan, 0, |slots| Lookup::Bytes(slots)),
                        _ => match <Box<[u16; $length]>>::try_from(entries.into_boxed_slice()) {
                            Ok(plan) => tabled::<Slots<u16, $length>>(plan, 0, |slots| Lookup::Words(slots)),
                            Err(_) => unreachable!("the length was matched"),
                        },
                    };
                })*
                _ => {}
            }
        };
    }
    masked!(16 32 64 128 256 512 1024 2048 4096 8192 16384 32768 65536);
    let behind = size_of_val(&entries[..]);
    match ModuloTable::new(entries.into_boxed_slice()) {
        Some(plan) => tabled::<Modulo<Box<[u16]>>>(Box::new(plan), behind, Lookup::Remainders),
        None => unreachable!("tables have at least one entry and less than 2^32"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    /// Masked and fast remainders are remainders, and wide members survive.
    #[test]
    fn every_length_is_modulo() {
        let flows: Vec<u64> = (0..5_000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        for length in [1usize, 2, 3, 16, 24, 64, 251, 256, 4096, 65536, 65537] {
            for offset in [0u16, 900] {
                let entries: Vec<u16> = (0..length).map(|i| (i % 120) as u16 + offset).collect();
                let mut out = vec![0; flows.len()];
                let picker = table(entries.clone());
                picker.pick(&flows, &mut out);
                for (&flow, &member) in flows.iter().zip(&out) {
                    assert_eq!(member, entries[flow as u32 as usize % length]);
                    assert_eq!(picker.lookup().pick(flow), Some(member));
                }
            }
        }
    }
}
