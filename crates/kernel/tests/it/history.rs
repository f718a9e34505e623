//! History of tables in the kernel: whoever plans next goes on as the library's group that was never stopped.

use crate::pinned::{Folder, group};
use anabranch_kernel::{Datapath, Group, Object, Tables};
use anabranch_split::{Batch, Group as Uninterrupted, Members, Parameters, Weights};
use std::slice::from_ref;

/// Steps of a history.
const STEPS: u32 = 60;

/// The next of a sequence of numbers that look random (MMIX's generator).
fn drawn(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

/// The same members as the library takes them.
fn members(group: &Group) -> Members {
    let weights = group.members.iter().map(|member| u64::from(member.weight)).collect();
    Members::new(Weights::new(weights).unwrap(), group.members.iter().map(|member| member.up).collect())
        .unwrap()
}

/// Member of every slot of the library's table.
fn slots(uninterrupted: &Uninterrupted, count: u64) -> Vec<u16> {
    let keys: Vec<u64> = (0..count).collect();
    let mut out = vec![0; keys.len()];
    uninterrupted.pick_batch(&Batch::of_flows(&keys), &mut out);
    out
}

/// Another change: weights while all are up, or a member that fails or returns.
fn change(group: &mut Group, state: &mut u64) {
    let count = group.members.len() as u64;
    let member = drawn(state, count) as usize;
    if drawn(state, 4) == 0 {
        for member in &mut group.members {
            (member.weight, member.up) = (1 + drawn(state, 20) as u32, true);
        }
    } else {
        group.members[member].up ^= true;
        if group.members.iter().all(|member| !member.up) {
            group.members[member].up = true;
        }
    }
}

#[test]
fn a_process_that_ends_between_any_two_changes_leaves_the_next_all_it_needs() {
    let Some(folder) = Folder::new("history") else { return };
    for (object, count) in [(Object::Slots, 4096), (Object::SlotsLarge, 65_536), (Object::Flowlet, 4096)] {
        Datapath::create(&folder.0, object, 2, 2).unwrap();
        let mut one = group("one", "10.0.1.0/24", &[4, 3, 2, 1, 5]);
        let other = group("other", "10.0.2.0/24", &[1, 2]);
        let parameters = Parameters::new([("slots", count.to_string())]);
        let uninterrupted = Uninterrupted::new("min-move", &members(&one), &parameters).unwrap();
        let mut state = 38;
        for step in 0..STEPS {
            let mut datapath = Datapath::open(&folder.0).unwrap().unwrap();
            datapath.put(&[one.clone(), other.clone()], false).unwrap();
            // As another process reads it.
            let datapath = Datapath::open(&folder.0).unwrap().unwrap();
            assert_eq!(datapath.observed().unwrap(), [one.clone(), other.clone()]);
            let kernel = &datapath.slots(from_ref(&one)).unwrap()[0];
            assert!(*kernel == slots(&uninterrupted, count), "{} step {step}", object.name());
            change(&mut one, &mut state);
            uninterrupted.update(&members(&one)).unwrap();
        }
        Datapath::open(&folder.0).unwrap().unwrap().remove().unwrap();
    }
}

#[test]
fn a_datapath_with_more_room_goes_on_from_the_one_whose_place_it_takes() {
    let (Some(folder), Some(larger)) = (Folder::new("small"), Folder::new("larger")) else { return };
    let mut before = Datapath::create(&folder.0, Object::Slots, 1, 1).unwrap();
    let mut one = group("one", "10.0.1.0/24", &[4, 3, 2]);
    let parameters = Parameters::new([("slots", "4096")]);
    let uninterrupted = Uninterrupted::new("min-move", &members(&one), &parameters).unwrap();
    before.put(from_ref(&one), false).unwrap();
    let mut put =
        |datapath: &mut Datapath, elsewhere: Option<&Datapath>, weights: [u32; 3], up: [bool; 3]| {
            for ((member, weight), up) in one.members.iter_mut().zip(weights).zip(up) {
                (member.weight, member.up) = (weight, up);
            }
            uninterrupted.update(&members(&one)).unwrap();
            let new = group("new", "10.0.2.0/24", &[1]);
            let groups = [one.clone(), new];
            let groups = if elsewhere.is_some() { &groups[..] } else { &groups[..1] };
            let tables = elsewhere.map(|before| before.tables().unwrap()).unwrap_or_default();
            // As through a file.
            let snapshots = tables.snapshots().unwrap();
            let tables = Tables::restored(snapshots.iter().map(|(&name, bytes)| (name, &bytes[..]))).unwrap();
            datapath.put_after(groups, &tables, false).unwrap();
            assert_eq!(datapath.slots(from_ref(&one)).unwrap()[0], slots(&uninterrupted, 4096));
        };
    put(&mut before, None, [1, 9, 3], [true; 3]);
    let mut after = Datapath::create(&larger.0, Object::Slots, 2, 2).unwrap();
    put(&mut after, Some(&before), [1, 9, 3], [true, false, true]);
    put(&mut after, Some(&before), [1, 9, 3], [true; 3]);
    // A group that is there already goes on from itself.
    put(&mut after, Some(&before), [5, 1, 1], [true; 3]);
    before.remove().unwrap();
    after.remove().unwrap();
}
