use super::*;
use crate::transport::control::traces::Trace;
use std::collections::HashMap;

const PATH: PathFacts = PathFacts {
    rate_bps: 100_000_000_000,
    rtt_ps: 8_320_000,
    frame_bytes: 1048,
    header_bytes: 48,
    began_ps: 0,
};

/// Feeds the notifications, and expects each change of a rate at its time. How many changes there were.
fn replay(case: &str) -> usize {
    let trace = Trace::read(&format!("conweave/dcqcn_{case}.csv.gz"));
    let mut laws: HashMap<(i64, i64), Dcqcn> = HashMap::new();
    let mut changes = 0;
    for (number, row) in (2..).zip(trace.rows()) {
        let sender = (row.number("src"), row.number("sport"));
        let law = laws.entry(sender).or_insert_with(|| Dcqcn::new(&DcqcnSettings::DEFAULT, &PATH));
        let now_ps = row.number("time_ns") as u64 * 1000;
        match row.text("event") {
            "cnp" => law.on_mark(now_ps),
            "first_cnp" => {
                assert_eq!(law.alpha_at_ps, u64::MAX, "row {number}");
                law.on_mark(now_ps);
                changes += 1;
            }
            change => {
                assert_eq!(law.due_ps(), now_ps, "row {number}: {change}");
                assert!(law.step(now_ps));
                // It is brought up to date when it is needed.
                law.estimate(now_ps);
                changes += 1;
            }
        }
        let state = [
            ("stage_after", u64::from(law.stage)),
            ("target_bps", law.target_bps),
            ("rate_bps", law.rate_bps),
        ];
        for (column, value) in state {
            assert_eq!(value as i64, row.number(column), "row {number}: {column}");
        }
        assert_eq!(format!("{:.12}", law.alpha), row.text("alpha"), "row {number}");
    }
    changes
}

#[test]
fn every_rate_change_of_conweave_ns3s_traces_is_replayed() {
    let cases =
        ["two_to_one_gbn", "two_to_one_irn", "incast8_gbn", "incast8_irn", "incast32_gbn", "incast32_irn"];
    assert_eq!(cases.map(replay).iter().sum::<usize>(), 15_229);
}

/// Alpha after a hundred quiet days is the number at which all its updates end, and the next update is as near as ever.
/// Were each update counted, this would not end.
#[test]
fn quiet_days_take_no_time() {
    let settings = DcqcnSettings::DEFAULT;
    let mut law = Dcqcn::new(&settings, &PATH);
    law.on_mark(1_000_000);
    let mut alpha = law.alpha;
    for _ in 0..1_000_000 {
        alpha *= 1.0 - settings.gain;
    }
    let until_ps = 100 * 86_400 * 1_000_000_000_000;
    for late_ps in [0, 1, settings.alpha_ps - 1] {
        let mut law = law.clone();
        law.estimate(until_ps + late_ps);
        assert_eq!(law.alpha.to_bits(), alpha.to_bits());
        assert_eq!(law.alpha_at_ps, until_ps + settings.alpha_ps, "{late_ps} ps after an update");
    }
}
