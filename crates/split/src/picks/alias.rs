//! Alias method: equal columns of hashes, each cut at one point between two members.

use super::{Packet, Pick};
use crate::Env;

/// Hashes of one column: those below `split` belong to `lower`, the others to `upper`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// First hash of `upper`, as an absolute hash.
    pub split: u32,
    /// Member of the hashes below `split`.
    pub lower: u16,
    /// Member of the other hashes.
    pub upper: u16,
}

/// Pick from `N` columns, a power of two above one; the top bits of the hash choose the column (Walker 1977, Vose
/// 1991).
pub struct Alias<const N: usize>;

impl<const N: usize> Pick for Alias<N> {
    const NAME: &'static str = "alias";
    const NEEDS: u32 = 0;
    type Plan = [Column; N];
    type State = ();
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(plan: &[Column; N], _state: &mut (), packet: &mut Packet, _env: &mut E) -> u16 {
        const { assert!(N.is_power_of_two() && N > 1, "the index is a shift") }
        let hash = packet.hash();
        let column = plan[(hash >> (32 - N.trailing_zeros())) as usize & (N - 1)];
        if hash < column.split { column.lower } else { column.upper }
    }
}
