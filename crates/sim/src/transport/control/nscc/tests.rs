use super::*;
use crate::transport::control::traces::{Row, Trace};
use std::collections::HashMap;

/// Three tiers of `uet-htsim`: 14.02272 us there and back, frames of 4150 bytes, 100 Gbit/s.
const PATH: PathFacts = PathFacts {
    rate_bps: 100_000_000_000,
    rtt_ps: 14_022_720,
    frame_bytes: 4150,
    header_bytes: 64,
    began_ps: 0,
};

fn compare(law: &Nscc, row: &Row<'_>, number: usize) {
    let flag = |set: bool| i64::from(set);
    let state = [
        ("cwnd_after", law.window),
        ("inc_bytes_after", law.growth),
        ("received_bytes_after", law.received),
        ("achieved_bytes_after", law.achieved),
        ("avg_delay_ps", law.average_delay_ps as i64),
        ("base_rtt_ps", law.base_rtt_ps as i64),
        ("maxwnd", law.window_max),
        ("fast_count_after", law.empty_bytes),
        ("fast_increase_after", flag(law.grows_fast)),
        ("last_adjust_ps_after", law.adjusted_ps as i64),
        ("qa_endtime_ps_after", law.quick_end_ps as i64),
        ("trigger_qa_after", flag(law.trimmed)),
        ("bytes_ignored_after", law.ignored),
        ("bytes_to_ignore_after", law.to_ignore),
    ];
    for (column, value) in state {
        assert_eq!(value, row.number(column), "row {number}: {column}");
    }
}

/// Feeds what reached the law, and expects the state after each row. How many rows there were.
fn replay(name: &str, first_window: Option<u64>) -> usize {
    let trace = Trace::read(&format!("uec/nscc_{name}.csv.gz"));
    let settings = NsccSettings { window_bytes: first_window, ..NsccSettings::DEFAULT };
    let mut laws: HashMap<i64, Nscc> = HashMap::new();
    for (number, row) in (2..).zip(trace.rows()) {
        let law = laws.entry(row.number("flow_id")).or_insert_with(|| Nscc::new(&settings, &PATH));
        let bytes = row.number("newly_acked_bytes") as u64;
        let now_ps = row.number("now_ps") as u64;
        let in_flight_bytes = row.number("in_flight") as u64;
        let rtt_ps = (row.number("base_rtt_ps") + row.number("delay_ps")) as u64;
        if row.text("event") == "ack" {
            law.on_ack(&Answer {
                now_ps,
                bytes,
                marked: row.number("ecn") == 1,
                rtt_ps: (row.number("rtt_sample_valid") == 1).then_some(rtt_ps),
                una: 0,
                next: 0,
                in_flight_bytes,
                hops: &[],
            });
        } else {
            let rtt_ps = row.number("base_rtt_ps") as u64;
            law.on_trim(&Trim { now_ps, bytes, rtt_ps, in_flight_bytes, elsewhere: false });
        }
        compare(law, &row, number);
    }
    trace.rows().count()
}

#[test]
fn every_row_of_uet_htsims_traces_is_replayed() {
    let rows = [("single", None), ("incast3to1", Some(50 * 4150)), ("incast16", None), ("perm16_p1", None)]
        .map(|(name, window)| replay(name, window));
    assert_eq!(rows.iter().sum::<usize>(), 14_859);
}

/// A flow that begins late adjusts as one that begins at once.
#[test]
fn a_law_counts_time_from_the_beginning_of_its_flow() {
    let windows = [0, 5_000_000_000].map(|began_ps| {
        let mut law = Nscc::new(&NsccSettings::DEFAULT, &PathFacts { began_ps, ..PATH });
        law.window = 100_000;
        for ack in 1..=12 {
            law.on_ack(&Answer {
                now_ps: began_ps + ack * 3_000_000,
                bytes: 4150,
                marked: ack % 3 == 0,
                rtt_ps: Some(14_022_720 + ack * 900_000),
                una: 0,
                next: 0,
                in_flight_bytes: 100_000,
                hops: &[],
            });
        }
        law.window
    });
    assert_eq!(windows[0], windows[1]);
    assert_ne!(windows[0], 100_000);
}

/// `updateCwndOnNack_NSCC` with receiver credits: a packet that was trimmed on the link that they look after counts as any
/// other, but does not cut the window.
#[test]
fn a_trim_that_somebody_else_looks_after_leaves_the_window() {
    let [here, there] = [false, true].map(|elsewhere| {
        let mut law = Nscc::new(&NsccSettings::DEFAULT, &PATH);
        let (now_ps, rtt_ps) = (14_000_000, 14_022_720);
        law.on_trim(&Trim { now_ps, bytes: 4150, rtt_ps, in_flight_bytes: 100_000, elsewhere });
        law
    });
    assert_eq!(there.window, here.window + 4150);
    assert_eq!(Nscc { window: here.window, ..there }, here);
}
