//! Threads on one handle.

use anabranch::*;
use std::ffi::CStr;
use std::ptr::{null, null_mut};
use std::sync::Barrier;
use std::thread;

fn last() -> String {
    // SAFETY: the library's own text, which lasts until the next failure.
    unsafe { CStr::from_ptr(anabranch_last_error()) }.to_str().unwrap().to_owned()
}

fn group(weights: &[u64]) -> Box<Group> {
    let mut group = null_mut();
    // Miri takes minutes for a table of 65536 slots.
    let technique = if cfg!(miri) { c"weighted-random" } else { c"min-move" };
    let (technique, n) = (technique.as_ptr(), weights.len());
    // SAFETY: a text, weights and a variable.
    let status = unsafe { anabranch_group_new(technique, weights.as_ptr(), n, null(), 0, &raw mut group) };
    assert_eq!(status, Status::Ok, "{}", last());
    // SAFETY: made by the library, and freed by the one who has it.
    unsafe { Box::from_raw(group) }
}

fn reader(group: &Group) -> Box<Reader> {
    let mut reader = null_mut();
    // SAFETY: a variable.
    assert_eq!(unsafe { anabranch_reader_new(Some(group), &raw mut reader) }, Status::Ok);
    // SAFETY: made by the library, and freed by the one who has it.
    unsafe { Box::from_raw(reader) }
}

#[test]
fn a_reader_sees_each_update_and_outlives_its_group() {
    let group = group(&[1, 1]);
    let mut reader = reader(&group);
    let key = (0..).find(|&key| anabranch_group_pick(Some(&group), key) == 1).unwrap();
    assert_eq!(anabranch_reader_pick(Some(&mut reader), key), 1);
    let down = [1_u8, 0];
    // SAFETY: two flags.
    assert_eq!(unsafe { anabranch_group_update(Some(&group), null(), down.as_ptr(), 2) }, Status::Ok);
    assert_eq!(anabranch_reader_pick(Some(&mut reader), key), 0);
    anabranch_group_free(Some(group));
    assert_eq!(anabranch_reader_pick(Some(&mut reader), key), 0);
    anabranch_reader_free(Some(reader));
}

#[test]
fn connections_see_each_drain_and_outlive_their_group() {
    let group = group(&[1, 1]);
    let mut connections = null_mut();
    // SAFETY: a variable.
    assert_eq!(unsafe { anabranch_connections_new(Some(&group), &raw mut connections) }, Status::Ok);
    // SAFETY: made by the library, and freed by the one who has it.
    let mut connections = unsafe { Box::from_raw(connections) };
    let key = (0..).find(|&key| anabranch_group_pick(Some(&group), key) == 1).unwrap();
    let mut pick = |begins, now_ns| anabranch_connections_pick(Some(&mut connections), key, begins, now_ns);
    assert_eq!(pick(true, 0), 1);
    assert_eq!(anabranch_group_drain(Some(&group), 1, 1, 10), Status::Ok);
    assert_eq!([pick(false, 9), pick(false, 10), pick(true, 9)], [1, 0, 0]);
    anabranch_group_free(Some(group));
    assert_eq!(pick(false, 9), 0);
    anabranch_connections_free(Some(connections));
}

#[test]
fn picks_beside_updates_are_those_of_a_plan() {
    let group = group(&[1, 1, 1]);
    let all = Barrier::new(3);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut reader = reader(&group);
                all.wait();
                let picks =
                    (0..200_000_u64).map(|key| anabranch_reader_pick(Some(&mut reader), key << 7 | key));
                assert!(picks.into_iter().all(|member| member < 3));
                anabranch_reader_free(Some(reader));
            });
        }
        all.wait();
        for round in 0..50 {
            let up = [1, u8::from(round % 2 == 1), 1];
            // SAFETY: three flags.
            assert_eq!(unsafe { anabranch_group_update(Some(&group), null(), up.as_ptr(), 3) }, Status::Ok);
        }
    });
    // A copy has the plan of its origin, and keeps it.
    let mut copy = null_mut();
    // SAFETY: a variable.
    assert_eq!(unsafe { anabranch_group_copy(Some(&group), &raw mut copy) }, Status::Ok);
    // SAFETY: made by the library, and freed by the one who has it.
    let copy = unsafe { Box::from_raw(copy) };
    let picks =
        |group: &Group| (0..1000).map(|key| anabranch_group_pick(Some(group), key)).collect::<Vec<_>>();
    let before = picks(&group);
    assert_eq!(picks(&copy), before);
    let up = [0_u8, 1, 1];
    // SAFETY: three flags.
    assert_eq!(unsafe { anabranch_group_update(Some(&group), null(), up.as_ptr(), 3) }, Status::Ok);
    assert_ne!(picks(&group), before);
    assert_eq!(picks(&copy), before);
}
