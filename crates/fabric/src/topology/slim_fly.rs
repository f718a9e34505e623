//! Slim Fly: routers of diameter 2, as McKay, Miller and Širáň's graphs link them (Besta, Hoefler, SC 2014).

use super::LinkSettings;
use super::builder::Builder;
use crate::{Fabric, FabricError, Tier};

/// Slim Fly. Routers are (0, x, y) and (1, m, c) over the field of q elements: 2 q^2, each linked to (3 q - d) / 2 others, and
/// none further from another than two links. q = 4 w + d is an odd prime, d one of -1 and 1.
///
/// With a primitive element xi of the field and, for d = 1, X = {1, xi^2, ..., xi^(q-3)} and X' = {xi, xi^3, ..., xi^(q-2)},
/// (0, x, y) and (0, x, y') are linked if y - y' is in X, (1, m, c) and (1, m, c') if c - c' is in X', and (0, x, y) and
/// (1, m, c) if y = m x + c (section II-B, equations 1 to 3). For d = -1 the sets are {±1, ±xi^2, ...} and {±xi, ±xi^3, ...}, of
/// w elements of either sign (Hafner, Geometric realization of the graphs of McKay-Miller-Širáň, JCTB 2004).
#[derive(Clone, Debug, PartialEq)]
pub struct SlimFly {
    /// Order of the field, an odd prime.
    pub q: u32,
    /// Number of hosts of each router, p in the paper; zero stands for half of its links to others, rounded up, which is the
    /// paper's choice for full bandwidth.
    pub hosts_per_router: u32,
    /// Settings of the hosts' links.
    pub host_link: LinkSettings,
    /// Settings of the links between routers.
    pub router_link: LinkSettings,
}

impl Default for SlimFly {
    /// The Hoffman-Singleton graph: 50 routers with 7 links each, 200 hosts.
    fn default() -> Self {
        Self {
            q: 5,
            hosts_per_router: 0,
            host_link: LinkSettings::default(),
            router_link: LinkSettings::default(),
        }
    }
}

/// The prime below or at `from`, and the one above, among those that a Slim Fly can be built over.
fn primes_about(from: u32) -> (Option<u32>, u32) {
    let below = (SlimFly::LEAST..=from).rev().find(|&q| is_prime(q));
    // Between a number and its double there is a prime (Bertrand's postulate).
    let above = (from.max(SlimFly::LEAST)..).find(|&q| is_prime(q)).unwrap_or(SlimFly::LEAST);
    (below, above)
}

fn is_prime(q: u32) -> bool {
    q >= 2 && (2..).take_while(|divisor| divisor * divisor <= q).all(|divisor| !q.is_multiple_of(divisor))
}

/// The powers of a primitive element of the prime field of order `q`: all elements but zero, from 1 on.
fn powers(q: u32) -> Vec<u32> {
    let of = |element: u32| -> Vec<u32> {
        let mut powers = vec![1];
        let mut next = u64::from(element) % u64::from(q);
        while next > 1 {
            powers.push(next as u32);
            next = next * u64::from(element) % u64::from(q);
        }
        powers
    };
    (2..q).map(of).find(|powers| powers.len() as u32 == q - 1).unwrap_or_default()
}

impl SlimFly {
    /// Smallest order: 2 is no 4 w + 1 or 4 w - 1.
    const LEAST: u32 = 3;
    /// Largest order: of the next prime there are more routers than a fabric has nodes.
    const MOST: u32 = 719;

    /// Number of links of a router to others, k' in the paper: (3 q - d) / 2.
    #[must_use]
    pub fn network_radix(&self) -> u32 {
        let Self { q, .. } = *self;
        if q % 4 == 1 { (3 * q - 1) / 2 } else { (3 * q).div_ceil(2) }
    }

    /// Number of hosts of each router.
    #[must_use]
    pub fn hosts_of_router(&self) -> u32 {
        if self.hosts_per_router == 0 { self.network_radix().div_ceil(2) } else { self.hosts_per_router }
    }

    /// Differences between routers of one x, and between those of one m.
    fn generators(&self) -> [Vec<u32>; 2] {
        let powers = powers(self.q);
        let step = |first: usize, count: usize| powers.iter().skip(first).step_by(2).take(count).copied();
        if self.q % 4 == 1 {
            return [0, 1].map(|first| step(first, powers.len()).collect());
        }
        // Minus one is an odd power of the primitive element, so a set that has both ends of each link needs both signs.
        let count = (self.q as usize).div_ceil(4);
        [0, 1].map(|first| step(first, count).flat_map(|power| [power, self.q - power]).collect())
    }

    /// Builds hosts, then routers (0, x, y) by x and y, then (1, m, c) by m and c; links of hosts, then those within a row of
    /// either half, then those between the halves.
    ///
    /// # Errors
    /// Refuses an order that is no prime, and too many nodes or links.
    pub fn build(&self) -> Result<Fabric, FabricError> {
        let Self { q, .. } = *self;
        if !(Self::LEAST..=Self::MOST).contains(&q) || !is_prime(q) {
            let (below, above) = primes_about(q.min(Self::MOST));
            let near = below.map_or_else(
                || above.to_string(),
                |below| {
                    if above > Self::MOST || above == below {
                        below.to_string()
                    } else {
                        format!("{below} or {above}")
                    }
                },
            );
            return Err(FabricError::new(
                "q",
                format!("{q} is no odd prime from {} to {}", Self::LEAST, Self::MOST),
                format!("give a prime, such as {near}; powers of primes are not built"),
            ));
        }
        let per_router = self.hosts_of_router();
        let (routers, radix) = (2 * q * q, self.network_radix());
        let [n, p, k] = [routers, per_router, radix].map(u128::from);
        let mut builder = Builder::new(&[], n * (p + 1), n * p + n * k / 2)?;
        let hosts = routers * per_router;
        for host in 0..hosts {
            builder.node(format!("host{host}"), Tier::Host, None);
        }
        for router in 0..routers {
            let (half, row, column) = (router / (q * q), router / q % q, router % q);
            builder.node(format!("router{half}.{row}.{column}"), Tier::Leaf, None);
        }
        for host in 0..hosts {
            builder.link(host, hosts + host / per_router, &self.host_link);
        }
        let router = |half: u32, row: u32, column: u32| hosts + (half * q + row) * q + column;
        for (half, differences) in (0..).zip(self.generators()) {
            for row in 0..q {
                for column in 0..q {
                    let mut others: Vec<u32> =
                        differences.iter().map(|difference| (column + difference) % q).collect();
                    others.sort_unstable();
                    for other in others.into_iter().filter(|&other| other > column) {
                        builder.link(router(half, row, column), router(half, row, other), &self.router_link);
                    }
                }
            }
        }
        for x in 0..q {
            for y in 0..q {
                for m in 0..q {
                    let c = (y + q - m * x % q) % q;
                    builder.link(router(0, x, y), router(1, m, c), &self.router_link);
                }
            }
        }
        builder.build()
    }
}
