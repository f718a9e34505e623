//! The examples in C, beside the same in Rust.

use crate::installed::{CRATE, Linked, compiled, lines, pkg_config, run};
use anabranch_network::{DrivenNetwork, Message, UNINTERRUPTED};
use anabranch_scenario::Scenario;
use anabranch_split::{Batch, Group, Members, Parameters, Weights};
use std::path::Path;
use std::sync::Arc;

const PACKETS: u64 = 100_000;
const WEIGHTS: [u64; 5] = [4, 3, 2, 1, 5];

/// The keys of `split.c`: SplitMix64's finalizer (Steele, Lea and Flood 2014) over multiples of its constant.
fn keys() -> Vec<u64> {
    (1..=PACKETS)
        .map(|i| {
            let key = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let key = (key ^ (key >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let key = (key ^ (key >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            key ^ (key >> 31)
        })
        .collect()
}

/// Lines that `split.c` prints, by the library in Rust.
fn split(technique: &str, settings: &[(&str, &str)]) -> Vec<String> {
    let weights = |n: usize| Weights::new(WEIGHTS[..n].to_vec()).unwrap();
    let all = Members::all_up(weights(4));
    let group = Group::new(technique, &all, &Parameters::new(settings.iter().copied())).unwrap();
    let keys = keys();
    let pick = || {
        let mut members = vec![0; keys.len()];
        group.pick_batch(&Batch::of_flows(&keys), &mut members);
        members
    };
    let mut before = pick();
    let mut said = Vec::new();
    let mut report = |title: &str, n: u16| {
        let members = pick();
        let moved = members.iter().zip(&before).filter(|(now, before)| now != before).count();
        let count = |member| members.iter().filter(|&&picked| picked == member).count().to_string();
        let counts = (0..n).map(count).collect::<Vec<_>>().join(" ");
        said.push(format!("{title}: {counts}, {moved} moved"));
        before = members;
    };
    report("planned", 4);
    group.update(&Members::new(weights(4), vec![true, false, true, true]).unwrap()).unwrap();
    report("second down", 4);
    group.update(&all).unwrap();
    report("second up", 4);
    group.update(&Members::all_up(weights(5))).unwrap();
    report("fifth added", 5);
    said.push(match group.shares() {
        None => "shares: by the traffic".to_owned(),
        Some(shares) => {
            let shares = shares.iter().map(|share| format!("{share:.6}")).collect::<Vec<_>>().join(" ");
            format!("shares: {shares}")
        }
    });
    said.push(format!("threads: {}", pick().into_iter().map(u64::from).sum::<u64>()));
    said
}

#[test]
fn a_program_in_c_splits_as_the_library_does() {
    for linked in [Linked::Statically, Linked::Shared] {
        let Some(program) = compiled("split", linked) else { return };
        assert_eq!(lines(&program, &["min-move"]), split("min-move", &[]), "{linked:?}");
        let coarse = split("min-move", &[("slots", "4096")]);
        assert_eq!(lines(&program, &["min-move", "slots=4096"]), coarse);
        assert_ne!(coarse, split("min-move", &[]));
        assert_eq!(lines(&program, &["log-rendezvous"]), split("log-rendezvous", &[]));
        // It remembers flows: who picks first decides nothing here, for all are known when the threads begin.
        assert_eq!(lines(&program, &["wrr"]), split("wrr", &[]));
        assert_eq!(lines(&program, &["byte-flowlet"]), split("byte-flowlet", &[]));
        let bare = run(&program, &[]);
        assert_eq!(bare.status.code(), Some(2));
        assert!(String::from_utf8(bare.stderr).unwrap().contains("no technique; give one"));
        let refused = run(&program, &["min-mov"]);
        assert_eq!(refused.status.code(), Some(2));
        let error =
            Group::new("min-mov", &Members::all_up(Weights::new(vec![1]).unwrap()), &Parameters::default());
        assert_eq!(String::from_utf8(refused.stderr).unwrap(), format!("split: {}\n", error.unwrap_err()));
    }
}

/// Lines that `closed_loop.c` prints, by the network in Rust.
fn closed_loop(file: &Path, settings: &[(&str, &str)]) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap();
    let settings = settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect::<Vec<_>>();
    let scenario = Scenario::parse_driven(&text, &file.display().to_string(), &settings).unwrap();
    let scenario = scenario.resolve(file.parent().unwrap()).unwrap();
    let hosts = scenario.fabric().hosts();
    let mut network = DrivenNetwork::new(Arc::new(scenario), false).unwrap();
    let change = "[[change]]\nat = \"200 us\"\nlink = \"leaf0-spine0\"\nset = \"down\"\n";
    let changes = network.resolved().changes_of(change, "change").unwrap();
    network.change(&changes).unwrap();
    let (mut asked, mut answered, mut worker_of, mut said) = (0, 0, [0; 1000], Vec::new());
    let mut ask = |network: &mut DrivenNetwork, worker_of: &mut [u32]| {
        if asked < 200 {
            let worker = 1 + asked % (hosts - 1);
            asked += 1;
            let request = Message { src: 0, dst: worker, bytes: 1000, at_ps: None, transport: 0 };
            worker_of[network.send(&[request]).unwrap().start as usize] = worker;
        }
    };
    for _ in 0..4 {
        ask(&mut network, &mut worker_of);
    }
    while answered < 200 && network.now_ps() < 1_000_000_000_000 {
        network.run_until_any_done(None, UNINTERRUPTED).unwrap();
        for end in network.take_done() {
            said.push(format!("{} {} {}", end.message, end.at_ps, u8::from(end.whole)));
            match worker_of[end.message as usize] {
                0 => {
                    answered += 1;
                    ask(&mut network, &mut worker_of);
                }
                worker => {
                    let at_ps = Some(end.at_ps + 5_000_000);
                    let answer = Message { src: worker, dst: 0, bytes: 20_000, at_ps, transport: 0 };
                    network.send(&[answer]).unwrap();
                }
            }
        }
    }
    assert_eq!(answered, 200);
    said
}

#[test]
fn a_program_in_c_drives_a_network_as_one_in_rust() {
    let file = Path::new(CRATE).join("../../examples/leaf-spine.toml");
    let name = file.to_str().unwrap();
    for linked in [Linked::Statically, Linked::Shared] {
        let Some(program) = compiled("closed_loop", linked) else { return };
        let bare = run(&program, &[]);
        assert_eq!(bare.status.code(), Some(2));
        assert!(String::from_utf8(bare.stderr).unwrap().contains("no scenario; give a file"));
        let ends = lines(&program, &[name]);
        assert_eq!(ends.len(), 400);
        assert_eq!(ends, closed_loop(&file, &[]), "{linked:?}");
        let set = [("routing.balance", "conga"), ("seed", "7")];
        let other = lines(&program, &[name, "routing.balance=conga", "seed=7"]);
        assert_eq!(other, closed_loop(&file, &set));
        assert_ne!(other, ends);
    }
}

#[test]
fn the_version_is_that_of_the_workspace() {
    let Some(version) = pkg_config(&["--modversion"]) else { return };
    assert_eq!(version, [env!("CARGO_PKG_VERSION")]);
}
