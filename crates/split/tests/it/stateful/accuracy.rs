//! Distance from the weights, compared with the noise floor of an ideal hash, in connections and in bytes.

use anabranch_split::{Batch, Group, Members, Parameters, Weights};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

fn group(name: &str, pairs: &[(&str, &str)], weights: &[u64]) -> Group {
    let members = Members::all_up(Weights::new(weights.to_vec()).unwrap());
    Group::new(name, &members, &Parameters::new(pairs.iter().copied())).unwrap()
}

/// Mean error by VALO Eq. 1: mean over paths of |got - asked| / asked, in percent.
fn mape_pct(got: &[f64], weights: &[u64]) -> f64 {
    let (sum, total) = (weights.iter().sum::<u64>() as f64, got.iter().sum::<f64>());
    let error = |(&g, &w): (&f64, &u64)| (g / total * sum / w as f64 - 1.0).abs();
    100.0 * got.iter().zip(weights).map(error).sum::<f64>() / weights.len() as f64
}

/// Expected MAPE of an independent hash over `flows` connections, in the normal limit of De Moivre's mean absolute
/// deviation: `sqrt(2 N p (1-p) / pi) / (N p)`.
fn floor_pct(flows: f64, weights: &[u64]) -> f64 {
    let sum = weights.iter().sum::<u64>() as f64;
    let of = |&w: &u64| {
        let p = w as f64 / sum;
        (2.0 * (1.0 - p) / (core::f64::consts::PI * flows * p)).sqrt()
    };
    100.0 * weights.iter().map(of).sum::<f64>() / weights.len() as f64
}

fn uniform(rng: &mut impl Rng) -> f64 {
    ((rng.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

fn draw_weights(rng: &mut impl Rng, n: usize) -> Vec<u64> {
    (0..n).map(|_| rng.next_u64() % 100 + 1).collect()
}

#[test]
fn the_mean_absolute_deviation_of_a_hash_is_the_floor() {
    let mut rng = Pcg64Mcg::new(5);
    let weights = [4u64, 3, 2, 1];
    let runs = 400;
    let mut sum = 0.0;
    for _ in 0..runs {
        let mut got = [0.0; 4];
        for _ in 0..4000 {
            got[match rng.next_u64() % 10 {
                0..4 => 0,
                4..7 => 1,
                7..9 => 2,
                _ => 3,
            }] += 1.0;
        }
        sum += mape_pct(&got, &weights);
    }
    let ratio = sum / f64::from(runs) / floor_pct(4000.0, &weights);
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
}

/// Checks flows that come as a Poisson process, send a packet every 2 ms and last exponentially long; those seen within
/// the last 20 ms are active.
#[test]
fn deficit_holds_the_quota_of_active_flows_under_churn() {
    let (mut rng, mut ratios) = (Pcg64Mcg::new(11), vec![]);
    const MS: u64 = 1_000_000;
    let mean_flows = 4000.0;
    let mean_life_ms = 400.0;
    for _ in 0..3 {
        let weights = draw_weights(&mut rng, 4);
        let deficit = group("deficit", &[("idle_timeout_ms", "20")], &weights);
        // Next packet of every flow: (time, key, end).
        let mut heap = BinaryHeap::new();
        let mut arrival_ns = 0.0;
        let mut last = std::collections::HashMap::new();
        let (mut flows, mut times, mut next_look) = (vec![], vec![], 1500 * MS);
        let (mut mape, mut looks) = (0.0, 0);
        while looks < 10 {
            arrival_ns -= uniform(&mut rng).ln() * mean_life_ms / mean_flows * MS as f64;
            let life_ns = -uniform(&mut rng).ln() * mean_life_ms * MS as f64;
            heap.push(Reverse((arrival_ns as u64, rng.next_u64(), (arrival_ns + life_ns) as u64)));
            while let Some(&Reverse((now, flow, end))) = heap.peek()
                && now <= arrival_ns as u64
            {
                heap.pop();
                flows.push(flow);
                times.push(now);
                if now + 2 * MS <= end {
                    heap.push(Reverse((now + 2 * MS, flow, end)));
                }
            }
            if arrival_ns as u64 >= next_look {
                let mut out = vec![0; flows.len()];
                deficit.pick_batch(&Batch { flows: &flows, bytes: &[], times_ns: &times }, &mut out);
                for ((flow, time), member) in flows.drain(..).zip(times.drain(..)).zip(out) {
                    last.insert(flow, (time, member));
                }
                let now = arrival_ns as u64;
                last.retain(|_, seen| now - seen.0 <= 20 * MS);
                let mut got = [0.0; 4];
                for seen in last.values() {
                    got[usize::from(seen.1)] += 1.0;
                }
                mape += mape_pct(&got, &weights);
                looks += 1;
                next_look += 100 * MS;
            }
        }
        ratios.push(mape / 10.0 / floor_pct(last.len() as f64, &weights));
    }
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    assert!(mean < 0.05, "{ratios:?}");
}

/// Mean ratio to the floor, and mean fraction of flows stored, over draws of four weights and 40 thousand flows.
fn exceptions(pairs: &[(&str, &str)]) -> (f64, f64) {
    let (mut rng, draws, flows) = (Pcg64Mcg::new(3), 40, 40_000);
    let (mut ratio, mut stored) = (0.0, 0.0);
    for _ in 0..draws {
        let weights = draw_weights(&mut rng, 4);
        let keys = (0..flows).map(|_| rng.next_u64()).collect::<Vec<_>>();
        let pick = |pairs: &[(&str, &str)]| {
            let mut out = vec![0; flows];
            group("hash-exceptions", pairs, &weights).pick_batch(&Batch::of_flows(&keys), &mut out);
            out
        };
        let (out, hashed) = (pick(pairs), pick(&[("tau", "64")]));
        let mut got = [0.0; 4];
        out.iter().for_each(|&m| got[usize::from(m)] += 1.0);
        ratio += mape_pct(&got, &weights) / floor_pct(flows as f64, &weights) / f64::from(draws);
        let moved = out.iter().zip(&hashed).filter(|(a, b)| a != b).count();
        stored += moved as f64 / flows as f64 / f64::from(draws);
    }
    (ratio, stored)
}

#[test]
fn few_exceptions_bring_a_hash_to_a_quarter_of_its_floor() {
    let (ratio, stored) = exceptions(&[]);
    assert!((0.1..0.25).contains(&ratio), "{ratio} of the floor");
    assert!((0.003..0.01).contains(&stored), "{stored} of the flows");
    let (ratio, stored) = exceptions(&[("horizon", "0")]);
    assert!((0.1..0.25).contains(&ratio), "{ratio} of the floor");
    assert!((0.01..0.02).contains(&stored), "{stored} of the flows");
    // Within 64 deviations every path stays: the floor itself.
    let (ratio, stored) = exceptions(&[("tau", "64")]);
    assert!((0.8..1.2).contains(&ratio) && stored == 0.0, "{ratio}, {stored}");
}

/// Flows with Pareto sizes (shape 1.2, 10 KB to 100 MB), 64 at a time, in packets of 1500 bytes; each flow pauses for
/// 1 ms after every 40 packets on average.
fn heavy_tailed(rng: &mut impl Rng, packets: usize) -> (Vec<u64>, Vec<u32>, Vec<u64>) {
    let (mut flows, mut bytes, mut times) = (vec![], vec![], vec![]);
    let new = |rng: &mut dyn FnMut() -> f64| {
        let size = (10_000.0 * rng().powf(-1.0 / 1.2)).min(1e8) as u64;
        (size, (rng() * 1e18) as u64)
    };
    let mut draw = || uniform(rng);
    let mut active = (0..64).map(|_| (new(&mut draw), 0u64)).collect::<Vec<_>>();
    let mut now = 0u64;
    while flows.len() < packets {
        now += 1200;
        let i = (draw() * 64.0) as usize;
        let ((left, flow), wakes) = &mut active[i];
        if *wakes > now {
            continue;
        }
        let size = (*left).min(1500);
        flows.push(*flow);
        bytes.push(size as u32);
        times.push(now);
        *left -= size;
        if draw() < 1.0 / 40.0 {
            *wakes = now + 1_000_000;
        }
        if *left == 0 {
            active[i] = (new(&mut draw), 0);
        }
    }
    (flows, bytes, times)
}

#[test]
fn bytes_are_even_by_cell_and_flowlet() {
    let mut rng = Pcg64Mcg::new(17);
    let (flows, bytes, times_ns) = heavy_tailed(&mut rng, 1_000_000);
    let weights = [40, 30, 20, 10];
    let mape = |name: &str| {
        let group = group(name, &[], &weights);
        let mut out = vec![0; flows.len()];
        group.pick_batch(&Batch { flows: &flows, bytes: &bytes, times_ns: &times_ns }, &mut out);
        let mut got = [0.0; 4];
        out.iter().zip(&bytes).for_each(|(&m, &b)| got[usize::from(m)] += f64::from(b));
        mape_pct(&got, &weights)
    };
    let (cell, flowlet, flow) = (mape("byte-flowcell"), mape("byte-flowlet"), mape("deficit-bytes"));
    let (hash, count) = (mape("hash-exceptions"), mape("deficit"));
    assert!(cell <= 0.1 && flowlet <= 0.1, "cell {cell} %, flowlet {flowlet} %");
    assert!(flow < hash && flow < count && cell < flow, "{flow} {hash} {count}");
}

#[test]
fn a_flow_stays_within_a_cell_and_a_flowlet() {
    let mut rng = Pcg64Mcg::new(23);
    let (flows, bytes, times_ns) = heavy_tailed(&mut rng, 200_000);
    for name in ["byte-flowcell", "byte-flowlet"] {
        let group = group(name, &[], &[4, 3, 2]);
        let mut out = vec![0; flows.len()];
        group.pick_batch(&Batch { flows: &flows, bytes: &bytes, times_ns: &times_ns }, &mut out);
        // Per flow: (path, bytes of the cell, last time). A change of path is lawful at a boundary only.
        let mut known = std::collections::HashMap::<u64, (u16, u32, u64)>::new();
        let mut changes = 0;
        for (((&flow, &size), &time), &member) in flows.iter().zip(&bytes).zip(&times_ns).zip(&out) {
            let (before, mut cell, last) = known.get(&flow).copied().unwrap_or((member, 0, time));
            let boundary = match name {
                "byte-flowcell" => cell + size > 65_536,
                _ => time - last > 500_000,
            };
            if boundary {
                cell = 0;
            }
            changes += u32::from(before != member);
            assert!(boundary || before == member, "{name}: a change of path within a unit");
            known.insert(flow, (member, cell + size, time));
        }
        assert!(changes > 100, "{name}: {changes}");
    }
}
