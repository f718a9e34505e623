//! Plans of balancers as tables and rings, so that shares and moves are counted and not sampled.

/// Member that each hash leads to.
#[derive(Clone)]
pub(crate) enum Lookup {
    /// A table: hash `h` leads to `table[h % length]`.
    Table(Vec<u16>),
    /// A ring of all hashes of so many bits: arcs by their last hash, in ascending order. The last arc ends the ring.
    Ring { bits: u32, arcs: Vec<(u64, u16)> },
    /// Members that hashes of a sample lead to, and the exact share of each member.
    Computed { picks: Vec<u16>, shares: Vec<f64> },
}

impl Lookup {
    /// Share of each of so many members.
    pub(crate) fn shares(&self, members: usize) -> Vec<f64> {
        let mut shares = vec![0.0; members];
        match self {
            Self::Table(table) => {
                for &member in table {
                    shares[usize::from(member)] += 1.0 / table.len() as f64;
                }
            }
            Self::Ring { bits, arcs } => {
                let mut begins = 0;
                for &(last, member) in arcs {
                    let ends = u128::from(last) + 1;
                    shares[usize::from(member)] += part(ends - begins, *bits);
                    begins = ends;
                }
            }
            Self::Computed { shares: exact, .. } => shares[..exact.len()].copy_from_slice(exact),
        }
        shares
    }

    /// Share of the hashes that lead to another member by `other`, which is of the same balancer.
    pub(crate) fn moved(&self, other: &Self) -> f64 {
        match (self, other) {
            (Self::Table(a), Self::Table(b)) => differing(a, b),
            (Self::Computed { picks: a, .. }, Self::Computed { picks: b, .. }) => differing(a, b),
            (Self::Ring { bits, arcs: a }, Self::Ring { arcs: b, .. }) => {
                let (mut i, mut j, mut begins, mut moved) = (0, 0, 0u128, 0.0);
                while let (Some(&(last_a, member_a)), Some(&(last_b, member_b))) = (a.get(i), b.get(j)) {
                    let ends = u128::from(last_a.min(last_b)) + 1;
                    if member_a != member_b {
                        moved += part(ends - begins, *bits);
                    }
                    begins = ends;
                    i += usize::from(last_a <= last_b);
                    j += usize::from(last_b <= last_a);
                }
                moved
            }
            _ => f64::NAN,
        }
    }

    /// Picks the member of each key; a ring of 32 bits reads the low ones.
    pub(crate) fn pick(&self, keys: &[u64], out: &mut [u16]) {
        match self {
            Self::Table(table) => {
                let length = table.len() as u32;
                for (slot, &key) in out.iter_mut().zip(keys) {
                    *slot = table[(key as u32 % length) as usize];
                }
            }
            Self::Ring { bits, arcs } => {
                for (slot, &key) in out.iter_mut().zip(keys) {
                    let hash = key & (u64::MAX >> (64 - bits));
                    *slot = arcs[arcs.partition_point(|&(last, _)| last < hash)].1;
                }
            }
            Self::Computed { .. } => {}
        }
    }
}

/// Share of a number of hashes in all of so many bits.
fn part(hashes: u128, bits: u32) -> f64 {
    hashes as f64 / 2f64.powi(bits as i32)
}

fn differing(a: &[u16], b: &[u16]) -> f64 {
    a.iter().zip(b).filter(|(a, b)| a != b).count() as f64 / a.len() as f64
}

#[cfg(test)]
mod tests {
    use super::Lookup;

    #[test]
    fn shares_and_moves_of_rings_are_those_of_all_hashes() {
        let one = Lookup::Ring { bits: 4, arcs: vec![(2, 0), (9, 1), (15, 0)] };
        let other = Lookup::Ring { bits: 4, arcs: vec![(4, 0), (9, 2), (12, 0), (15, 1)] };
        let keys = (0..16).collect::<Vec<u64>>();
        let (mut a, mut b) = ([0; 16], [0; 16]);
        one.pick(&keys, &mut a);
        other.pick(&keys, &mut b);
        assert_eq!(a, [0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0]);
        let moved = a.iter().zip(&b).filter(|(a, b)| a != b).count();
        assert_eq!(one.moved(&other), moved as f64 / 16.0);
        assert_eq!(one.shares(2), [9.0 / 16.0, 7.0 / 16.0]);
    }
}
