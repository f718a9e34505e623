//! Two flows through one link, as a fluid: each law ends with the link in use and shared.

use super::*;
use anabranch_traffic::random::Stream;

const LINK_BPS: u64 = 100_000_000_000;
const STEP_PS: u64 = 1_000_000;
const PATH: PathFacts =
    PathFacts { rate_bps: LINK_BPS, rtt_ps: 20_000_000, frame_bytes: 1048, header_bytes: 48, began_ps: 0 };

/// Marks of the link: none below, all above (RED's ramp of the RoCE configurations, by its mean).
const KMIN_BYTES: f64 = 100_000.0;
const KMAX_BYTES: f64 = 400_000.0;

struct Flow {
    law: Box<dyn CongestionControl>,
    una: f64,
    begins: u64,
    until_mark: f64,
}

/// Shares of the link in the last tenth of `steps` microseconds, and the mean backlog there. The second flow begins when a
/// tenth has passed. Round trips are measured with `noise`, a share of them, without which flows may stay in step.
fn share(laws: [Box<dyn CongestionControl>; 2], steps: u64, noise: f64) -> ([f64; 2], f64) {
    let mut begins = [1, steps / 10].into_iter();
    let mut flows = laws.map(|law| Flow { law, una: 0.0, begins: begins.next().unwrap(), until_mark: 1.0 });
    let link_step = LINK_BPS as f64 / 8e12 * STEP_PS as f64;
    let (mut backlog, mut sent, mut shares, mut waiting) = (0.0_f64, 0.0, [0.0; 2], 0.0);
    let tail = steps - steps / 10;
    let mut stream = Stream::new(1, "noise");
    for step in 1..=steps {
        let now_ps = step * STEP_PS;
        let rtt_ps = PATH.rtt_ps as f64 + backlog / (LINK_BPS as f64 / 8e12);
        let marked = ((backlog - KMIN_BYTES) / (KMAX_BYTES - KMIN_BYTES)).clamp(0.0, 1.0) * 0.2;
        let marked = if backlog > KMAX_BYTES { 1.0 } else { marked };
        let mut offered = [0.0; 2];
        for (flow, bytes) in flows.iter_mut().zip(&mut offered).filter(|(flow, _)| flow.begins <= step) {
            flow.law.wake(now_ps);
            let by_window = flow.law.window_bytes() as f64 / rtt_ps;
            let rate = (flow.law.rate_bps() as f64 / 8e12).min(by_window).min(LINK_BPS as f64 / 8e12);
            *bytes = rate * STEP_PS as f64;
            flow.una += *bytes;
            // Marks at even distances: one for each expected.
            flow.until_mark -= *bytes / PATH.frame_bytes as f64 * marked;
            let mark = flow.until_mark <= 0.0;
            if mark {
                flow.until_mark = 1.0;
                flow.law.on_mark(now_ps);
            }
            let hops = [Hop {
                port: 0,
                rate_bps: LINK_BPS,
                sent_bytes: sent as u64,
                backlog_bytes: backlog as u64,
                at_ps: now_ps,
            }];
            flow.law.on_ack(&Answer {
                now_ps,
                bytes: *bytes as u64,
                marked: mark,
                rtt_ps: Some((rtt_ps * (1.0 + noise * stream.unit())) as u64),
                una: flow.una as u64,
                next: (flow.una + rate * rtt_ps) as u64,
                in_flight_bytes: (rate * rtt_ps) as u64,
                hops: &hops,
            });
        }
        let through = (backlog + offered.iter().sum::<f64>()).min(link_step);
        backlog += offered.iter().sum::<f64>() - through;
        sent += through;
        if step > tail {
            let total = link_step * (steps - tail) as f64;
            shares.iter_mut().zip(offered).for_each(|(share, bytes)| *share += bytes / total);
            waiting += backlog / (steps - tail) as f64;
        }
    }
    (shares, waiting)
}

fn converges(make: impl Fn() -> Box<dyn CongestionControl>, steps: u64, apart: f64) -> f64 {
    let (shares, waiting) = share([make(), make()], steps, 0.02);
    let used = shares[0] + shares[1];
    assert!((0.85..=1.02).contains(&used), "{shares:?}");
    assert!((shares[0] - shares[1]).abs() < apart, "{shares:?}");
    waiting
}

#[test]
fn dcqcn_converges() {
    converges(|| Box::new(Dcqcn::new(&DcqcnSettings::DEFAULT, &PATH)), 400_000, 0.1);
}

#[test]
fn hpcc_converges_with_an_empty_queue() {
    let waiting = converges(|| Box::new(Hpcc::new(&HpccSettings::DEFAULT, &PATH)), 50_000, 0.05);
    assert!(waiting < 0.1 * PATH.bdp_bytes() as f64, "{waiting}");
}

/// TIMELY has no single fixed point (Zhu and others, CoNEXT 2016): it uses the link, and keeps its queue between its
/// thresholds.
#[test]
fn timely_holds_its_queue() {
    let timely = || Box::new(Timely::new(&TimelySettings::DEFAULT, &PATH)) as Box<dyn CongestionControl>;
    let (shares, waiting) = share([timely(), timely()], 400_000, 0.0);
    assert!((0.85..=1.02).contains(&(shares[0] + shares[1])), "{shares:?}");
    let high = TimelySettings::DEFAULT.high_ps as f64 * LINK_BPS as f64 / 8e12;
    assert!(waiting < high, "{waiting}");
    assert!(shares.iter().all(|&share| share > 0.05), "{shares:?}");
}

#[test]
fn swift_converges_at_its_target() {
    let waiting = converges(|| Box::new(Swift::new(&SwiftSettings::DEFAULT, &PATH)), 500_000, 0.1);
    let target = SwiftSettings::DEFAULT.queueing_ps as f64 * LINK_BPS as f64 / 8e12;
    assert!((0.5 * target..2.0 * target).contains(&waiting), "{waiting} {target}");
}
