//! Datapaths as they stand in the kernel: what is put is what is held, and what others see is whole.
#![allow(clippy::explicit_write)] // Past the test runner, which would keep to itself what is skipped.

use anabranch_kernel::file_system::PINS;
use anabranch_kernel::{Datapath, Group, Hook, Member, Object, Output, Prefix};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::slice::from_ref;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Deadline of what is waited for: no measure of speed, only of never.
const DEADLINE: Duration = Duration::from_secs(120);

/// A folder of this test's own, gone with it.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    /// Nothing where the kernel does not let us.
    pub(crate) fn new(name: &str) -> Option<Self> {
        let lacking = anabranch_kernel::features().into_iter().find(|feature| !feature.present);
        if let Some(feature) = lacking {
            // Past the test runner, which would keep it to itself.
            writeln!(std::io::stderr(), "skipped: {name}: {}: {}", feature.name, feature.note).unwrap();
            return None;
        }
        Some(Self(Path::new(PINS).join(format!("anabranch-test-{}-{name}", std::process::id())).join(name)))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Ok(Some(datapath)) = Datapath::open(&self.0) {
            datapath.remove().unwrap();
        }
        let _ = fs::remove_dir(self.0.parent().unwrap());
    }
}

pub(crate) fn group(name: &str, prefix: &str, weights: &[u32]) -> Group {
    let members =
        (1..).zip(weights).map(|(target, &weight)| Member { target, weight, up: weight > 0, gateway: None });
    Group {
        name: name.into(),
        prefixes: vec![Prefix::parse(prefix).unwrap()],
        members: members.collect(),
        output: Output::Dscp,
        seed: 7,
        pause_ns: 500_000,
        turns: Vec::new(),
        plain: false,
    }
}

#[test]
fn what_is_put_is_held_under_every_scheme() {
    let Some(folder) = Folder::new("held") else { return };
    for object in Object::ALL {
        let mut datapath = Datapath::create(&folder.0, object, 3, 4).unwrap();
        assert!(datapath.observed().unwrap().is_empty());
        let one = group("one", "10.0.1.0/24", &[4, 3, 2]);
        let mut two = group("two", "fd00:2::/64", &[1, 0, 5, 9]);
        two.members[2].up = false;
        assert!(datapath.put(&[one.clone(), two.clone()], true).unwrap());
        assert!(datapath.observed().unwrap().is_empty(), "a dry run changes nothing");
        assert!(datapath.put(&[one.clone(), two.clone()], false).unwrap());
        assert!(!datapath.put(&[two.clone(), one.clone()], false).unwrap());
        // Another process sees the same.
        let again = Datapath::open(&folder.0).unwrap().unwrap();
        assert_eq!((again.scheme(), again.group_capacity(), again.route_capacity()), (object, 3, 4));
        assert_eq!(again.observed().unwrap(), [one.clone(), two.clone()]);
        let shares = again.shares().unwrap();
        assert!(shares[1][1] == 0.0 && shares[1][2] == 0.0 && shares[1][3] > 0.8);
        // A group that goes makes room for another; who stays keeps the number.
        let three = group("three", "10.0.1.0/24", &[1]);
        assert!(datapath.put(&[three.clone(), two.clone()], false).unwrap());
        assert_eq!(datapath.observed().unwrap(), [three, two]);
        datapath.remove().unwrap();
        assert!(Datapath::open(&folder.0).unwrap().is_none());
    }
}

#[test]
fn what_cannot_be_is_refused_and_leaves_what_is_in_force() {
    let Some(folder) = Folder::new("refused") else { return };
    assert!(Datapath::create(&folder.0.join("a.b"), Object::Slots, 1, 0).is_err());
    let mut datapath = Datapath::create(&folder.0, Object::Rendezvous, 2, 2).unwrap();
    let good = group("good", "10.0.1.0/24", &[4, 3]);
    datapath.put(from_ref(&good), false).unwrap();
    let same_prefix = group("other", "10.0.1.0/24", &[1]);
    let nowhere = Group { prefixes: Vec::new(), ..group("other", "::/0", &[1]) };
    let weightless = group("other", "::/0", &[0, 0]);
    let large = Group { name: "x".repeat(65), ..group("", "::/0", &[1]) };
    for (bad, words) in [
        (vec![good.clone(), same_prefix], "group good has it too"),
        (vec![good.clone(), nowhere], "no prefix"),
        (vec![good.clone(), weightless], "no member has a weight"),
        (vec![large], "1 to 64 bytes"),
        (vec![good.clone(), group("good", "::/0", &[1])], "there twice"),
        ((0..3).map(|n| group(&format!("g{n}"), &format!("10.0.{n}.0/24"), &[1])).collect(), "made for 2"),
    ] {
        let error = datapath.put(&bad, false).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        assert_eq!(datapath.observed().unwrap(), from_ref(&good));
    }
    let error = Datapath::create(&folder.0, Object::Slots, 1, 0).err().unwrap().to_string();
    assert!(error.contains("remove it first"), "{error}");
    let error = datapath.detach(1, Hook::Ingress).unwrap_err().to_string();
    assert!(error.contains("not attached here"), "{error}");
}

#[test]
fn what_a_crash_left_half_made_is_cleared_by_the_next() {
    let Some(folder) = Folder::new("crash") else { return };
    let parent = folder.0.parent().unwrap();
    let half = parent.join("crash+half");
    fs::create_dir_all(&half).unwrap();
    // Any pin will do for a half datapath.
    let whole = Datapath::create(&parent.join("whole"), Object::Slots, 1, 0).unwrap();
    fs::rename(parent.join("whole/NAMES"), half.join("NAMES")).unwrap();
    assert!(Datapath::open(&parent.join("whole")).is_err(), "a datapath without a map is none");
    whole.remove().unwrap();
    Datapath::create(&folder.0, Object::Slots, 1, 0).unwrap();
    assert!(!half.exists());
}

#[test]
fn who_looks_while_it_is_made_and_removed_sees_it_whole_or_not_at_all() {
    let Some(folder) = Folder::new("seen") else { return };
    let (whole, none, ended) = (AtomicU32::new(0), AtomicU32::new(0), AtomicBool::new(false));
    let begun = Instant::now();
    thread::scope(|scope| {
        let looks = scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) && begun.elapsed() < DEADLINE {
                let Some(found) = Datapath::open(&folder.0).unwrap() else {
                    none.fetch_add(1, Ordering::Relaxed);
                    continue;
                };
                assert!(found.observed().unwrap().len() <= 1);
                assert!(found.attachments().unwrap().is_empty());
                whole.fetch_add(1, Ordering::Relaxed);
            }
        });
        for round in 1.. {
            let mut made = Datapath::create(&folder.0, Object::Slots, 1, 1).unwrap();
            made.put(&[group("one", "0.0.0.0/0", &[1])], false).unwrap();
            made.remove().unwrap();
            let seen = [&whole, &none].iter().all(|count| count.load(Ordering::Relaxed) > 0);
            if looks.is_finished() || (round >= 40 && seen) {
                break;
            }
            assert!(
                begun.elapsed() < DEADLINE,
                "{whole:?} times whole, {none:?} times not there in {round} rounds"
            );
        }
        ended.store(true, Ordering::Relaxed);
        looks.join().unwrap();
    });
}

#[test]
fn a_change_moves_the_fewest_slots_and_back() {
    let Some(folder) = Folder::new("slots") else { return };
    let mut datapath = Datapath::create(&folder.0, Object::Slots, 1, 1).unwrap();
    let whole = group("one", "0.0.0.0/0", &[4, 3, 2]);
    let mut hurt = whole.clone();
    hurt.members[1].up = false;
    for (plan, expected) in
        [(&whole, [1820.0, 1365.0, 911.0]), (&hurt, [2731.0, 0.0, 1365.0]), (&whole, [1820.0, 1365.0, 911.0])]
    {
        datapath.put(from_ref(plan), false).unwrap();
        let slots: Vec<f64> = datapath.shares().unwrap()[0].iter().map(|share| share * 4096.0).collect();
        assert!(
            slots.iter().zip(expected).all(|(slots, expected)| (slots - expected).abs() <= 1.0),
            "{slots:?}"
        );
    }
    assert_eq!(datapath.observed().unwrap(), [whole]);
}
