//! Rings: points of each backend on a circle of hashes, as Envoy and HAProxy place and read them. Written from the rules
//! read in `envoyproxy/envoy` (`ring_hash_lb.cc`) and `haproxy/haproxy` (`lb_chash.c`, `intops.h`).

use crate::backends::Backends;
use crate::lookup::Lookup;
use xxhash_rust::xxh64::xxh64;

/// Envoy's default `minimum_ring_size`; a ring of the least weight's whole points is as large or larger.
const ENVOY_POINTS: f64 = 1024.0;
/// Points of HAProxy for one unit of weight.
const HAPROXY_POINTS: u64 = 16;
/// Points that HAProxy reserves for each server: 256 units of weight.
const HAPROXY_RANGE: u32 = 256 * HAPROXY_POINTS as u32;

/// Points of Envoy's ring, ascending. The number of points per weight is such that the least weight has whole ones;
/// those of the others are rounded up along running sums.
fn envoy_points(backends: &Backends<'_>, minimum: f64) -> Vec<(u64, u16)> {
    let present = backends.present();
    let sum = backends.weights.iter().sum::<u64>() as f64;
    let part = |member: usize| backends.weights[member] as f64 / sum;
    let least = present.iter().map(|&member| part(member)).fold(1.0, f64::min);
    let scale = (least * minimum).ceil() / least;
    let (mut placed, mut due) = (0.0, 0.0);
    let mut points = Vec::new();
    for member in present {
        due += scale * part(member);
        for number in 0.. {
            if placed >= due {
                break;
            }
            let point = format!("{}_{number}", backends.names[member]);
            points.push((xxh64(point.as_bytes(), 0), member as u16));
            placed += 1.0;
        }
    }
    points.sort_unstable();
    points
}

/// Envoy's ring: a hash belongs to the first point at or after it.
pub(crate) fn envoy_ring(backends: &Backends<'_>) -> Lookup {
    let mut arcs = envoy_points(backends, ENVOY_POINTS);
    let first = arcs[0].1;
    arcs.push((u64::MAX, first));
    Lookup::Ring { bits: 64, arcs }
}

/// One of Bob Jenkins's integer hashes, times a prime, as HAProxy has it.
fn avalanche(mut a: u32) -> u32 {
    a = a.wrapping_add(0x7ed5_5d16).wrapping_add(a << 12);
    a = (a ^ 0xc761_c23c) ^ (a >> 19);
    a = a.wrapping_add(0x1656_67b1).wrapping_add(a << 5);
    a = a.wrapping_add(0xd3a2_646c) ^ (a << 9);
    a = a.wrapping_add(0xfd70_46c5).wrapping_add(a << 3);
    a = (a ^ 0xb55a_4f09) ^ (a >> 16);
    a.wrapping_mul(3_221_225_473)
}

/// HAProxy's points, ascending; servers have the numbers from `first` on.
fn haproxy_points(weights: &[u64], first: u32) -> Vec<(u32, u16)> {
    let points_of = |(member, &weight): (usize, &u64)| {
        let begins = (first + member as u32) * HAPROXY_RANGE;
        (0..(weight * HAPROXY_POINTS) as u32).map(move |point| (avalanche(begins + point), member as u16))
    };
    let mut points = weights.iter().enumerate().flat_map(points_of).collect::<Vec<_>>();
    points.sort_unstable();
    points
}

/// HAProxy's ring (`balance source`, `hash-type consistent`): a hash belongs to the nearest point, to the one before it
/// where both are as near.
pub(crate) fn haproxy_ring(weights: &[u64], first: u32) -> Lookup {
    let points = haproxy_points(weights, first);
    let all = 1u64 << 32;
    let next = points.iter().skip(1).map(|&(point, _)| u64::from(point));
    let around = next.chain([u64::from(points[0].0) + all]);
    let mut arcs = Vec::with_capacity(points.len() + 1);
    for (&(point, member), after) in points.iter().zip(around) {
        arcs.push(((u64::from(point) + after) / 2, member));
    }
    // The last arc goes on at zero, or the first one begins before it.
    match arcs.last().copied() {
        Some((last, member)) if last >= all => {
            arcs.pop();
            arcs.push((all - 1, member));
            arcs.insert(0, (last - all, member));
        }
        _ => arcs.push((all - 1, points[0].1)),
    }
    Lookup::Ring { bits: 32, arcs }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backends::names;
    use anabranch_bench::flow_keys;

    /// Envoy's own test (`ring_hash_lb_test.cc`, `Basic`), whose ring is written out.
    #[test]
    fn points_are_those_of_envoys_test() {
        let names = (90..96).map(|port| format!("127.0.0.1:{port}")).collect::<Vec<_>>();
        let points = envoy_points(&Backends { names: &names, weights: &[1; 6] }, 12.0);
        let expected = [
            (833_437_586_790_550_860, 4),
            (928_266_305_478_181_108, 2),
            (1_033_482_794_131_418_490, 0),
            (3_551_244_743_356_806_947, 5),
            (3_851_675_632_748_031_481, 3),
            (5_583_722_120_771_150_861, 1),
            (6_311_230_543_546_372_928, 1),
            (7_700_377_290_971_790_572, 3),
            (13_144_177_310_400_110_813, 5),
            (13_444_792_449_719_432_967, 2),
            (15_516_499_411_664_133_160, 4),
            (16_117_243_373_044_804_889, 0),
        ];
        assert_eq!(points, expected);
    }

    #[test]
    fn a_ring_of_envoy_leads_to_the_first_point_at_or_after_a_hash() {
        let names = names(5, 1);
        let backends = Backends { names: &names, weights: &[5, 1, 2, 0, 3] };
        let (points, ring) = (envoy_points(&backends, ENVOY_POINTS), envoy_ring(&backends));
        let mut keys = flow_keys(1000);
        keys.extend(points.iter().flat_map(|&(point, _)| [point, point.wrapping_add(1)]));
        let mut picked = vec![0; keys.len()];
        ring.pick(&keys, &mut picked);
        for (key, member) in keys.iter().zip(picked) {
            let nearest = points.iter().min_by_key(|(point, _)| point.wrapping_sub(*key));
            assert_eq!(nearest.map(|point| point.1), Some(member), "{key}");
        }
    }

    /// HAProxy's own choices (`vectors/haproxy`), whose servers count from 1.
    #[test]
    fn picks_are_those_of_haproxy() {
        let sdbm = |hash: u32, &byte: &u8| hash.wrapping_mul(65_599).wrapping_add(u32::from(byte));
        let mut rows = 0;
        for row in include_str!("../../../vectors/haproxy/picks.csv").lines().skip(1) {
            let [weights, key, server] = row.split(',').collect::<Vec<_>>()[..] else { panic!("{row}") };
            let weights = weights.split(':').map(|weight| weight.parse().unwrap()).collect::<Vec<u64>>();
            let hash = avalanche(key.as_bytes().iter().fold(0, sdbm));
            let mut picked = [0];
            haproxy_ring(&weights, 1).pick(&[u64::from(hash)], &mut picked);
            assert_eq!(picked[0], server.parse().unwrap(), "{row}");
            rows += 1;
        }
        assert_eq!(rows, 1800);
    }

    #[test]
    fn a_ring_of_haproxy_leads_to_the_nearest_point() {
        for first in 1..20 {
            let weights = [5, 1, 2, 0, 3];
            let (points, ring) = (haproxy_points(&weights, first), haproxy_ring(&weights, first));
            let mut keys = flow_keys(200);
            keys.extend([0, u64::from(u32::MAX)]);
            let mut picked = vec![0; keys.len()];
            ring.pick(&keys, &mut picked);
            for (&key, member) in keys.iter().zip(picked) {
                let hash = key as u32;
                let away = |point: u32| point.wrapping_sub(hash).min(hash.wrapping_sub(point));
                let nearest = points.iter().map(|&(point, _)| away(point)).min();
                let own =
                    points.iter().filter(|point| point.1 == member).map(|&(point, _)| away(point)).min();
                assert_eq!(own, nearest, "{hash}");
            }
        }
    }
}
