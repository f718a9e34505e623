//! Every unit reads what it writes, and reads what the SI says.

use crate::document::{Node, Value};
use crate::unit::*;
use anabranch_fabric::{Buffer, Marking, Rate};
use proptest::prelude::*;
use std::fmt::Debug;

fn node(value: Value) -> Node {
    Node { position: Position { source: "test".into(), line: None }, value }
}

fn text(text: &str) -> Node {
    node(Value::Text(text.to_owned()))
}

/// Value that is read after `value` is written.
fn again<U: Unit>(unit: &U, value: &U::Value) -> U::Value {
    let written = format!("key = {}", unit.write(value));
    let table = crate::document::parse(&written, "test", &[]).unwrap();
    unit.read(&table.get("key").unwrap().node).unwrap()
}

fn same<U: Unit<Value: PartialEq + Debug>>(unit: &U, value: &U::Value) {
    assert_eq!(again(unit, value), *value);
}

#[test]
fn quantities_are_exact() {
    for (written, ps) in [
        ("12 us", 12_000_000),
        ("12us", 12_000_000),
        ("0.000_001 s", 1_000_000),
        ("1.5 ns", 1_500),
        ("0.1 us", 100_000),
        ("3 \u{b5}s", 3_000_000),
        ("9223372.036854775807 s", i64::MAX as u64),
    ] {
        assert_eq!(Time.read(&text(written)).unwrap(), ps, "{written}");
    }
    for (written, bps) in
        [("100 Gbps", 100_000_000_000), ("2.5 Gbit/s", 2_500_000_000), ("1 Mb/s", 1_000_000)]
    {
        assert_eq!(Speed.read(&text(written)).unwrap().bps(), bps, "{written}");
    }
    for (written, bytes) in [("300 KB", 300_000), ("300 kB", 300_000), ("64 KiB", 65_536), ("1 B", 1)] {
        assert_eq!(Bytes::SOME.read(&text(written)).unwrap(), bytes, "{written}");
    }
}

#[test]
fn canonical_quantities_take_the_largest_whole_unit() {
    for (ps, written) in [(0, "0 s"), (1_500_000, "1500 ns"), (5_000_000_000, "5 ms"), (1, "1 ps")] {
        assert_eq!(Time.write(&ps), format!("\"{written}\""));
    }
    assert_eq!(Bytes::SOME.write(&65_536), "\"65536 B\"");
    assert_eq!(Speed.write(&Rate::from_bps(2_500_000_000).unwrap()), "\"2500 Mbps\"");
}

#[test]
fn what_is_no_quantity_is_refused() {
    for bad in
        ["", " ", "us", "1", "1.", ".5 us", "-1 us", "1e3 us", "1 us 2", "1,5 us", "1.2.3 us", "9223373 s"]
    {
        assert!(Time.read(&text(bad)).is_err(), "{bad}");
    }
    assert!(Time.read(&node(Value::Integer(5))).unwrap_err().problem.contains("no unit"));
}

/// A limit in a unit that is far from all known ones is no size: the hint says what a limit is. One letter off is a slip.
#[test]
fn hints_of_limits_tell_slips_from_what_is_no_limit() {
    let hint = |limit: &str| Room.read(&text(limit)).unwrap_err().hint;
    assert_eq!(hint("3 apples"), format!("give {}", Room.wants()));
    assert_eq!(hint("3"), format!("give {}", Room.wants()));
    assert_eq!(hint("3 KBB"), "did you mean `KB`?");
    assert_eq!(hint("5 GB"), "give a size from \"1 B\" to \"4294967294 B\"");
    assert_eq!(
        Bytes::SOME.read(&text("3 apples")).unwrap_err().hint,
        "known here: GB, MB, KB, B, GiB, MiB, KiB"
    );
}

proptest! {
    #[test]
    fn times_read_as_written(ps in 0..=i64::MAX as u64) {
        same(&Time, &ps);
    }

    #[test]
    fn rates_read_as_written(bps in Rate::LEAST_BPS..=Rate::MOST_BPS) {
        same(&Speed, &Rate::from_bps(bps).unwrap());
    }

    #[test]
    fn sizes_read_as_written(bytes in 1..=i64::MAX as u64) {
        same(&Bytes::SOME, &bytes);
    }

    #[test]
    fn numbers_read_as_written(whole in 0..=i64::MAX as u64, fraction in 0.0..=1.0f64, factor in 1e-300..1e300f64) {
        same(&Whole::ANY, &whole);
        same(&Fraction, &fraction);
        same(&Positive { most: 1e300 }, &factor);
    }

    #[test]
    fn limits_read_as_written(limit in 1..u32::MAX, above in 1..1000u32, probability in 0.0..=1.0f64) {
        same(&Room, &Buffer { bytes: limit, ..Buffer::UNLIMITED });
        same(&Room, &Buffer { packets: limit, ..Buffer::UNLIMITED });
        same(&Room, &Buffer::UNLIMITED);
        same(&Ecn, &Marking::Off);
        same(&Ecn, &Marking::Step { bytes: limit, packets: u32::MAX });
        same(&Ecn, &Marking::Step { bytes: u32::MAX, packets: limit });
        let low_bytes = limit.saturating_sub(above).min(u32::MAX - 1001);
        same(&Ecn, &Marking::Ramp { low_bytes, high_bytes: low_bytes + above, probability });
    }

    #[test]
    fn words_read_as_written(word in "\\PC{1,20}", control in "[\\x00-\\x7f]{1,8}", flag: bool) {
        same(&Text { wants: "" }, &word);
        if control.chars().any(char::is_control) {
            let refused = Text { wants: "" }.read(&text(&control)).unwrap_err();
            prop_assert!(refused.problem.ends_with("has a control character"));
            prop_assert!(!refused.problem.chars().any(char::is_control), "it is shown as an escape");
        } else {
            same(&Text { wants: "" }, &control);
        }
        same(&OneOrMore(Text { wants: "" }), &vec![word.clone(), word]);
        same(&OneOrMore(Text { wants: "" }), &Vec::new());
        same(&Flag, &flag);
    }
}
