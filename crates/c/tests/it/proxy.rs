//! The example of a proxy in C, beside the same in Rust.

use crate::installed::{self, Linked, compiled, run};
use anabranch_split::{Connections, Group, Members, Parameters, SlowStart, Weights};

const CONNECTIONS: u64 = 20_000;
const SECOND_NS: u64 = 1_000_000_000;

/// The keys of `proxy.c`: SplitMix64's finalizer (Steele, Lea and Flood 2014) over multiples of its constant.
fn key(connection: u64) -> u64 {
    let key = (connection + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let key = (key ^ (key >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let key = (key ^ (key >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    key ^ (key >> 31)
}

struct Proxy {
    group: Group,
    connections: Connections,
    lines: Vec<String>,
}

impl Proxy {
    fn report(&mut self, title: &str, first: u64, begins: bool, second: u64, before: &mut Vec<u16>) {
        let pick = |i| self.connections.pick(&self.group, key(first + i), begins, second * SECOND_NS);
        let now = (0..CONNECTIONS).map(pick).collect::<Vec<_>>();
        let moved = now.iter().zip(&*before).filter(|(now, before)| now != before).count();
        let [a, b, c] = [0, 1, 2].map(|backend| now.iter().filter(|&&picked| picked == backend).count());
        self.lines.push(format!("{title}: {a} {b} {c}, {moved} moved"));
        *before = now;
    }

    fn remembered(&mut self) {
        self.lines.push(format!("remembered: {} bytes", self.connections.state_bytes()));
    }
}

/// Lines that `proxy.c` prints, by the library in Rust.
fn proxy(technique: &str, settings: &[(&str, &str)]) -> Vec<String> {
    let weights = Weights::new(vec![4, 3, 2]).unwrap();
    let members = |up: [bool; 3]| Members::new(weights.clone(), up.to_vec()).unwrap();
    let all = members([true; 3]);
    let group = Group::new(technique, &all, &Parameters::new(settings.iter().copied())).unwrap();
    let mut proxy = Proxy { group, connections: Connections::new(), lines: Vec::new() };
    let (mut old, mut new) = (vec![0; CONNECTIONS as usize], vec![0; CONNECTIONS as usize]);
    proxy.report("begun", 0, true, 1, &mut old);
    proxy.group.drain(1, SECOND_NS, 31 * SECOND_NS).unwrap();
    proxy.report("new while the second drains", CONNECTIONS, true, 2, &mut new);
    proxy.report("old before the deadline", 0, false, 30, &mut old);
    proxy.report("new before the deadline", CONNECTIONS, false, 30, &mut new);
    proxy.remembered();
    proxy.report("old at the deadline", 0, false, 31, &mut old);
    proxy.remembered();
    proxy.group.undrain(1).unwrap();
    proxy.report("undrained", 0, false, 32, &mut old);
    proxy.group.update(&members([true, false, true])).unwrap();
    proxy.report("second down", 0, false, 33, &mut old);
    let rule = SlowStart::new(60 * SECOND_NS, 1.0, 10.0).unwrap();
    for age in [0, 20, 40, 60] {
        let starting = rule.lessened(&all, &[None, Some(age * SECOND_NS), None]).unwrap();
        proxy.group.update(&starting).unwrap();
        proxy.report("second starting", 0, false, 34 + age, &mut old);
    }
    let Proxy { group, mut lines, .. } = proxy;
    let mut loads = [0; 3];
    for i in 0..CONNECTIONS {
        loads[usize::from(group.pick_bounded(key(i), &loads, 0.001).unwrap())] += 1;
    }
    let [a, b, c] = loads;
    lines.push(format!("bounded: {a} {b} {c}"));
    let snapshot = group.snapshot().unwrap();
    let replica = Group::restore(&snapshot).unwrap();
    group.update(&members([false, true, true])).unwrap();
    let delta = group.delta(&replica).unwrap();
    replica.adopt(&delta).unwrap();
    let revision = group.revision().unwrap();
    assert_eq!(replica.revision().unwrap(), revision);
    lines.push(format!("replica: snapshot {}, delta {}, agrees {revision}", snapshot.len(), delta.len()));
    let slots = group.table().map_or(0, |table| table.len());
    lines.push(format!("table: {slots} slots, {} picks", if slots > 0 { CONNECTIONS } else { 0 }));
    lines
}

#[test]
fn a_proxy_in_c_does_as_one_in_rust() {
    for linked in [Linked::Statically, Linked::Shared] {
        let Some(program) = compiled("proxy", linked) else { return };
        let lines = installed::lines(&program, &["min-move"]);
        assert_eq!(lines, proxy("min-move", &[]), "{linked:?}");
        // What docs/proxies.md promises, whoever computed it: a drain moves nothing before its deadline, and slow start
        // ends where everything began.
        for title in ["old before the deadline", "new before the deadline"] {
            assert!(
                lines.iter().any(|line| line.starts_with(title) && line.ends_with(", 0 moved")),
                "{title}"
            );
        }
        let counts = |line: &str| line.split([':', ',']).nth(1).unwrap().to_owned();
        let last = lines.iter().rfind(|line| line.starts_with("second starting")).unwrap();
        assert_eq!(counts(last), counts(&lines[0]));
        for (technique, setting) in [("min-move", "slots=65537"), ("maglev", "entries=4099")] {
            let pair = setting.split_once('=').unwrap();
            assert_eq!(installed::lines(&program, &[technique, setting]), proxy(technique, &[pair]));
        }
        assert_eq!(installed::lines(&program, &["log-rendezvous"]), proxy("log-rendezvous", &[]));
        let remembers = run(&program, &["wrr"]);
        assert_eq!(remembers.status.code(), Some(2));
        let message = String::from_utf8(remembers.stderr).unwrap();
        assert!(message.starts_with("proxy: drain: wrr remembers flows"), "{message}");
    }
}
