//! Damaged and forged snapshots and deltas: an error or a group that works, never a panic. What the fuzz target checks,
//! checked here, with what fuzzing kept.

use super::{group, pick, rules, up};
use anabranch_split::{Group, PlanError};
use proptest::prelude::*;
use std::path::Path;
use std::sync::LazyLock;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// Bytes before the body of a snapshot: magic, format, updates and digest.
const HEAD: usize = 8 + 2 + 8 + 16;
/// Bytes of the checksum.
const TAIL: usize = 8;

/// A snapshot or delta with the checksum of its bytes, and a snapshot with the digest of its body too: what a forger
/// writes.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.len() < HEAD + TAIL {
        return bytes;
    }
    let end = bytes.len() - TAIL;
    if bytes.starts_with(b"ABGROUP\0") {
        let digest = xxh3_128(&bytes[HEAD..end]).to_le_bytes();
        bytes[HEAD - 16..HEAD].copy_from_slice(&digest);
    }
    let checksum = xxh3_64(&bytes[..end]).to_le_bytes();
    bytes[end..].copy_from_slice(&checksum);
    bytes
}

/// Restores; what was restored works, and is what its own snapshot says.
fn survives(bytes: &[u8]) -> bool {
    match Group::restore(bytes) {
        Err(PlanError { problem, hint }) => {
            assert!(!problem.is_empty() && !hint.is_empty());
            false
        }
        Ok(group) => {
            assert_eq!(group.snapshot().unwrap(), bytes);
            let members = group.members();
            assert!(pick(&group).iter().all(|&member| usize::from(member) < members.len()));
            let weights = members.weights().as_slice();
            for dead in 0..weights.len().min(3) {
                let Ok(members) = anabranch_split::Members::new(
                    members.weights().clone(),
                    (0..weights.len()).map(|member| member != dead).collect(),
                ) else {
                    continue;
                };
                if group.update(&members).is_ok() {
                    assert!(!pick(&group).contains(&(dead as u16)));
                }
            }
            true
        }
    }
}

/// One snapshot of each rule.
static SNAPSHOTS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(snapshots);

fn snapshots() -> Vec<Vec<u8>> {
    let members = up(&[4, 3, 2], &[]);
    let group = |(name, parameters)| {
        let group = Group::new(name, &members, &parameters).unwrap();
        group.update(&up(&[1, 9, 3, 0, 7], &[])).unwrap();
        group.update(&up(&[1, 9, 3, 0, 7], &[2])).unwrap();
        group
    };
    rules().into_iter().map(|rule| group(rule).snapshot().unwrap()).collect()
}

#[test]
fn the_fuzzing_corpus_is_read_without_a_panic() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/snapshot");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let whole = files.iter().filter(|file| survives(&sealed(std::fs::read(file).unwrap()))).count();
    // A corpus that was lost, or one in which nothing is a group any more, tests nothing.
    assert!(files.len() >= 6 && whole >= 4, "{whole} groups in {} files", files.len());
}

#[test]
fn every_truncation_and_every_changed_byte_is_refused() {
    let whole = group("linux-resilient", &[4, 3, 2]).snapshot().unwrap();
    assert!(survives(&whole));
    for length in 0..whole.len() {
        assert!(Group::restore(&whole[..length]).is_err(), "{length} bytes");
    }
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut changed = whole.clone();
            changed[at] ^= 1 << bit;
            assert!(Group::restore(&changed).is_err(), "bit {bit} of byte {at}");
        }
    }
    assert!(Group::restore(&[&whole[..], &[0]].concat()).is_err());
}

/// Where the members of a snapshot of min-move begin.
fn members_at(bytes: &[u8]) -> usize {
    let text = |at: usize| at + 1 + usize::from(bytes[at]);
    let parameters = text(HEAD);
    (0..2 * bytes[parameters]).fold(parameters + 1, |at, _| text(at))
}

#[test]
fn lies_about_lengths_shares_and_names_are_refused_with_their_reason() {
    let whole = group("min-move", &[4, 3, 2]).snapshot().unwrap();
    assert_eq!(sealed(whole.clone()), whole);
    let members = members_at(&whole);
    let history = members + 2 + 3 * 8 + 1 + 3;
    let slots = history + 4;
    let lie = |at: usize, lie: &[u8]| {
        let mut bytes = whole.clone();
        bytes[at..at + lie.len()].copy_from_slice(lie);
        Group::restore(&sealed(bytes)).unwrap_err().to_string()
    };
    assert!(lie(0, b"x").starts_with("snapshot: does not begin with `ABGROUP"));
    assert!(lie(8, &[2, 0]).starts_with("snapshot: format 2, and this version reads 1; "));
    assert!(lie(HEAD + 1, b"no").starts_with("technique: `non-move` is unknown"));
    assert!(lie(members, &[255, 255]).contains("the bytes end too early"));
    assert!(lie(members, &[0, 0]).starts_with("weights: the list is empty"));
    assert!(lie(members + 2, &[255; 8]).contains("2^53"));
    assert!(lie(history, &[255; 4]).contains("the bytes end too early"));
    assert!(lie(history, &[0; 4]).contains("more bytes than a group has"));
    assert!(lie(slots, &[9]).contains("a slot names path 10, of 3"));
    let other = (whole[slots] + 1) % 3;
    assert!(lie(slots, &[other]).contains("a table whose shares are not those of its weights"));
    assert!(lie(slots + 65_536, &[(whole[slots + 65_536] + 1) % 3]).contains("a table whose shares are not"));
    assert!(lie(slots + 2 * 65_536, &[5]).contains("asked weights that are not those asked"));
    // The digest of another body with the right checksum.
    let mut bytes = whole.clone();
    bytes[HEAD - 1] ^= 1;
    let end = bytes.len() - TAIL;
    let checksum = xxh3_64(&bytes[..end]).to_le_bytes();
    bytes[end..].copy_from_slice(&checksum);
    assert!(Group::restore(&bytes).unwrap_err().problem.ends_with("the digest is not that of the group"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn forged_snapshots_are_refused_or_work(
        pick in any::<prop::sample::Index>(),
        // Mostly in the first bytes, where names, lengths and members are.
        changes in prop::collection::vec((0usize..200, any::<u8>()), 0..4),
        anywhere in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = pick.get(&SNAPSHOTS).clone();
        for (at, byte) in changes {
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
        }
        if let Some((at, byte)) = anywhere {
            *at.get_mut(&mut bytes) = byte;
        }
        if let Some(cut) = cut {
            let tail = bytes.split_off(bytes.len() - TAIL);
            bytes.truncate(cut.index(bytes.len()));
            bytes.extend(tail);
        }
        survives(&sealed(bytes));
    }

    #[test]
    fn forged_deltas_are_refused_or_are_right(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let (base, ahead) = (group("linux-resilient", &[4, 3, 2]), group("linux-resilient", &[4, 3, 2]));
        ahead.update(&up(&[1, 9, 3, 0, 7], &[2])).unwrap();
        let mut bytes = ahead.delta(&base).unwrap();
        for (at, byte) in changes {
            *at.get_mut(&mut bytes) = byte;
        }
        if let Some(cut) = cut {
            let tail = bytes.split_off(bytes.len() - TAIL);
            bytes.truncate(cut.index(bytes.len()));
            bytes.extend(tail);
        }
        let before = base.revision().unwrap();
        match base.adopt(&sealed(bytes)) {
            Ok(()) => prop_assert_eq!(base.revision().unwrap().digest, ahead.revision().unwrap().digest),
            Err(error) => {
                prop_assert!(!error.problem.is_empty() && !error.hint.is_empty());
                prop_assert_eq!(base.revision().unwrap(), before);
            }
        }
    }
}
