//! Calls with NULL, with lengths that do not fit and with values that mean nothing: refused with a message, not a crash.

use anabranch::*;
use std::ffi::{CStr, c_char};
use std::ptr::{null, null_mut};

fn last() -> String {
    // SAFETY: the library's own text, which lasts until the next failure.
    unsafe { CStr::from_ptr(anabranch_last_error()) }.to_str().unwrap().to_owned()
}

/// Asserts that a call is refused, with a message that begins so.
fn refused(status: Status, message: &str) {
    assert_eq!(status, Status::Error);
    assert!(last().starts_with(message), "{}", last());
}

fn group(technique: &CStr) -> Box<Group> {
    let (weights, mut group) = ([4, 3, 2], null_mut());
    // SAFETY: a text, three weights, a variable.
    let status =
        unsafe { anabranch_group_new(technique.as_ptr(), weights.as_ptr(), 3, null(), 0, &raw mut group) };
    assert_eq!(status, Status::Ok, "{}", last());
    // SAFETY: made by the library, and freed by the one who has it.
    unsafe { Box::from_raw(group) }
}

const SCENARIO: &CStr = c"[fabric]\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n";

fn network() -> Box<Network> {
    let (file, mut network) = (c"two.toml".as_ptr(), null_mut());
    // SAFETY: texts and a variable.
    let status =
        unsafe { anabranch_network_of_text(SCENARIO.as_ptr(), file, null(), 0, true, &raw mut network) };
    assert_eq!(status, Status::Ok, "{}", last());
    // SAFETY: made by the library, and freed by the one who has it.
    unsafe { Box::from_raw(network) }
}

#[test]
fn a_group_that_cannot_be() {
    let (weights, name) = ([4_u64, 3], c"min-move".as_ptr());
    let mut made = null_mut();
    let out = &raw mut made;
    let mut reader = null_mut();
    let zeros = [0_u64; 2];
    let bare = [c"slots".as_ptr()];
    let unknown = [c"slotz=1".as_ptr()];
    let weights = weights.as_ptr();
    // SAFETY: arrays of those lengths, or what is refused before it is read.
    unsafe {
        refused(anabranch_group_new(null(), weights, 2, null(), 0, out), "technique: NULL; ");
        refused(anabranch_group_new(c"\xff".as_ptr(), weights, 2, null(), 0, out), "technique: \"\\xff\"; ");
        refused(anabranch_group_new(name, null(), 2, null(), 0, out), "weights: NULL; ");
        refused(anabranch_group_new(name, null(), 0, null(), 0, out), "weights: the list is empty; ");
        refused(
            anabranch_group_new(name, weights, usize::MAX, null(), 0, out),
            "weights: 18446744073709551615",
        );
        refused(anabranch_group_new(name, zeros.as_ptr(), 2, null(), 0, out), "weights: all are zero; ");
        refused(anabranch_group_new(name, weights, 2, null(), 1, out), "settings: NULL; ");
        refused(anabranch_group_new(name, weights, 2, bare.as_ptr(), 1, out), "settings: slots: no `=`; ");
        refused(anabranch_group_new(name, weights, 2, unknown.as_ptr(), 1, out), "min-move has no parameter");
        refused(anabranch_group_new(name, weights, 2, null(), 0, null_mut()), "group: NULL; ");
        refused(anabranch_group_copy(None, out), "group: NULL; ");
        refused(anabranch_reader_new(None, &raw mut reader), "group: NULL; ");
    }
    assert!(made.is_null());
    anabranch_group_free(None);
    anabranch_reader_free(None);
}

#[test]
fn picks_and_updates_that_cannot_be() {
    let group = group(c"min-move");
    let keys = [1_u64, 2, 3];
    let (mut members, mut shares) = ([9_u16; 3], [0.0; 4]);
    assert_eq!(anabranch_group_pick(None, 1), NO_MEMBER);
    assert_eq!(anabranch_reader_pick(None, 1), NO_MEMBER);
    assert_eq!(anabranch_group_members(None), 0);
    let one = anabranch_group_pick(Some(&group), 1);
    let out = members.as_mut_ptr();
    // SAFETY: arrays of those lengths, or what is refused before it is read.
    unsafe {
        let pick = |keys, n, out| anabranch_group_pick_batch(Some(&group), keys, null(), null(), n, out);
        refused(pick(null(), 3, out), "keys: NULL; ");
        refused(pick(keys.as_ptr(), 3, null_mut()), "members: NULL; ");
        refused(pick(keys.as_ptr().wrapping_byte_add(1), 2, out), "keys: 0x");
        refused(pick(keys.as_ptr(), usize::MAX / 4, out), "keys: ");
        refused(anabranch_group_pick_batch(None, keys.as_ptr(), null(), null(), 3, out), "group: NULL; ");
        assert_eq!(members, [9; 3]);
        assert_eq!(pick(null(), 0, null_mut()), Status::Ok);

        let update = |weights, up, n| anabranch_group_update(Some(&group), weights, up, n);
        refused(update([1_u64, 2].as_ptr(), null(), 2), "weights: 2 for a group of 3 paths; ");
        refused(update(null(), [1_u8, 1].as_ptr(), 2), "up: 2 flags for 3 paths; ");
        refused(update(null(), [0_u8; 3].as_ptr(), 3), "up: no path with a positive weight is alive; ");
        refused(update([0_u64; 3].as_ptr(), null(), 3), "weights: all are zero; ");
        refused(
            anabranch_group_shares(Some(&group), shares.as_mut_ptr(), 4),
            "shares: 4 values for 3 members; ",
        );
        refused(anabranch_group_shares(Some(&group), null_mut(), 3), "shares: NULL; ");
        assert_eq!(pick(keys.as_ptr(), 3, out), Status::Ok);
        let counted = self::group(c"deficit-bytes");
        let undecided = anabranch_group_shares(Some(&counted), shares.as_mut_ptr(), 3);
        assert_eq!(undecided, Status::Undecided);
        assert!(last().starts_with("deficit-bytes: the traffic decides the shares; "), "{}", last());
    }
    assert_eq!(members[0], one, "a refused update changed the plan");
    anabranch_group_free(Some(group));
}

#[test]
fn states_that_cannot_be() {
    let (group, counted) = (group(c"min-move"), group(c"wrr"));
    let (mut bytes, mut len) = ([0_u8; 8], 77);
    let (mut revision, mut made) = (Revision { updates: 7, digest_high: 8, digest_low: 9 }, null_mut());
    let (before, out, length) = (revision, bytes.as_mut_ptr(), &raw mut len);
    // SAFETY: arrays of those lengths, or what is refused before it is read.
    unsafe {
        refused(anabranch_group_snapshot(None, out, 8, length), "group: NULL; ");
        refused(anabranch_group_snapshot(Some(&group), out, 8, null_mut()), "len: NULL; ");
        refused(anabranch_group_snapshot(Some(&group), null_mut(), 8, length), "bytes: NULL; ");
        refused(anabranch_group_snapshot(Some(&counted), out, 8, length), "snapshot: wrr remembers flows");
        assert_eq!(len, 77);
        assert_eq!(anabranch_group_snapshot(Some(&group), out, 8, length), Status::Room);
        assert!(last().starts_with("bytes: room for 8 values of "), "{}", last());
        assert!(len > 131_072, "two tables of 65536 slots");
        assert_eq!(anabranch_group_table(Some(&group), null_mut(), 0, length), Status::Room);
        assert_eq!(len, 65_536);
        assert_eq!(anabranch_group_table(Some(&counted), null_mut(), 0, length), Status::Ok);
        assert_eq!(len, 0);
        refused(anabranch_group_table(None, null_mut(), 0, length), "group: NULL; ");
        refused(anabranch_group_revision(Some(&group), null_mut()), "revision: NULL; ");
        refused(anabranch_group_revision(Some(&counted), &raw mut revision), "revision: wrr remembers");
        assert_eq!(revision, before);
        refused(anabranch_group_delta(Some(&group), None, out, 8, length), "base: NULL; ");
        refused(anabranch_group_delta(Some(&group), Some(&counted), out, 8, length), "delta: wrr remembers");
        refused(anabranch_group_restore(null(), 8, &raw mut made), "bytes: NULL; ");
        refused(anabranch_group_restore(out, 8, &raw mut made), "snapshot: does not begin with ");
        refused(anabranch_group_restore(out, 8, null_mut()), "group: NULL; ");
        refused(anabranch_group_adopt(Some(&group), out, 8), "snapshot: does not begin with ");
        refused(anabranch_group_adopt(Some(&group), null(), 0), "snapshot: does not begin with ");
        refused(anabranch_group_adopt(None, out, 8), "group: NULL; ");
    }
    assert!(made.is_null());
    assert_eq!(bytes, [0; 8]);
}

#[test]
fn drains_starts_and_bounds_that_cannot_be() {
    let (group, counted) = (group(c"min-move"), group(c"wrr"));
    let (mut connections, mut member) = (null_mut(), 77);
    let (ages, loads, out) = ([NO_AGE, 5, NO_AGE], [1_u64, 2, 3], &raw mut member);
    refused(anabranch_group_drain(None, 1, 0, 1), "group: NULL; ");
    refused(anabranch_group_drain(Some(&group), 3, 0, 1), "drain: no path 4; ");
    refused(anabranch_group_drain(Some(&group), 1, 5, 5), "until_ns: 5 is not after now, 5; ");
    refused(anabranch_group_drain(Some(&counted), 1, 0, 1), "drain: wrr remembers flows");
    refused(anabranch_group_undrain(Some(&group), 1), "undrain: path 2 does not drain; ");
    assert_eq!(anabranch_connections_pick(None, 1, true, 0), NO_MEMBER);
    assert!(last().starts_with("connections: NULL; "), "{}", last());
    assert_eq!(anabranch_connections_state_bytes(None), 0);
    anabranch_connections_free(None);
    let rule = SlowStart { window_ns: 60, aggression: 1.0, min_percent: 10.0 };
    // SAFETY: arrays of those lengths, or what is refused before it is read.
    unsafe {
        refused(anabranch_connections_new(None, &raw mut connections), "group: NULL; ");
        refused(anabranch_connections_new(Some(&group), null_mut()), "connections: NULL; ");
        let start = |rule, ages, n| anabranch_group_slow_start(Some(&group), rule, ages, null(), null(), n);
        refused(start(rule, null(), 3), "ages_ns: NULL; ");
        refused(start(rule, ages.as_ptr(), 2), "up: 2 flags for 3 paths; ");
        refused(
            start(SlowStart { window_ns: 0, ..rule }, ages.as_ptr(), 3),
            "window: 0 makes no slow start; ",
        );
        refused(anabranch_group_slow_start(None, rule, ages.as_ptr(), null(), null(), 3), "group: NULL; ");
        let bound = |loads, n, eps, out| anabranch_group_pick_bounded(Some(&group), 1, loads, n, eps, out);
        refused(bound(null(), 3, 0.1, out), "loads: NULL; ");
        refused(bound(loads.as_ptr(), 2, 0.1, out), "loads: 2 for 3 paths; ");
        refused(bound(loads.as_ptr(), 3, f64::NAN, out), "eps: NaN is no bound; ");
        refused(bound(loads.as_ptr(), 3, 0.1, null_mut()), "member: NULL; ");
        refused(anabranch_group_pick_bounded(None, 1, loads.as_ptr(), 3, 0.1, out), "group: NULL; ");
    }
    assert!(connections.is_null());
    assert_eq!(member, 77);
}

#[test]
fn a_network_that_cannot_be() {
    let mut made = null_mut();
    let out = &raw mut made;
    let open = |file, set: *const *const c_char, n| unsafe {
        // SAFETY: texts, or what is refused before it is read.
        anabranch_network_open(file, set, n, true, out)
    };
    let parse = |text: &CStr| unsafe {
        // SAFETY: texts and a variable.
        anabranch_network_of_text(text.as_ptr(), c"two.toml".as_ptr(), null(), 0, true, out)
    };
    refused(open(null(), null(), 0), "file: NULL; ");
    refused(open(c"no/such.toml".as_ptr(), null(), 0), "no/such.toml: cannot be read: ");
    refused(parse(c"[fabric]\nleafs = 2\n"), "two.toml:2: ");
    refused(parse(c"name = \"two\"\n[routing]\nbalance = \"ideal\"\n"), "");
    assert!(made.is_null());
    anabranch_network_free(None);
}

#[test]
fn messages_and_times_that_cannot_be() {
    let network = network();
    let net = Some(&*network);
    let message = Message { bytes: 1000, at_ps: NO_TIME, src: 0, dst: 2, transport: 0 };
    let (mut number, mut taken, mut time) = (77, 0, 0);
    let out = &raw mut number;
    // SAFETY: arrays of those lengths, or what is refused before it is read.
    unsafe {
        refused(anabranch_network_send(None, message, out), "network: NULL; ");
        refused(anabranch_network_send(net, Message { dst: 4, ..message }, out), "send: ");
        refused(anabranch_network_send(net, Message { dst: 0, ..message }, out), "send: ");
        refused(anabranch_network_send(net, Message { bytes: 0, ..message }, out), "send: ");
        refused(anabranch_network_send(net, Message { transport: 9, ..message }, out), "send: ");
        refused(anabranch_network_send_many(net, null(), 3, out), "messages: NULL; ");
        let two = [message, Message { src: 2, ..message }];
        refused(anabranch_network_send_many(net, two.as_ptr(), 2, out), "send: ");
        assert_eq!(number, 77);
        // All or none: the first of the two was not sent.
        assert_eq!(anabranch_network_unfinished(net), 0);
        refused(
            anabranch_network_host(net, c"host9".as_ptr(), out),
            "send: the fabric has no host `host9`; ",
        );
        refused(anabranch_network_host(net, null(), out), "name: NULL; ");
        refused(
            anabranch_network_change(net, c"[[change]]\nlink = \"x\"\n".as_ptr()),
            "change:1: change.0: ",
        );
        refused(anabranch_network_change(net, null()), "changes: NULL; ");
        refused(anabranch_network_ideal(net, message, null_mut()), "time_ps: NULL; ");
        refused(anabranch_network_take_done(net, null_mut(), 3, &raw mut taken), "ends: NULL; ");
        refused(anabranch_network_take_done(net, null_mut(), 0, null_mut()), "taken: NULL; ");
        assert_eq!(anabranch_network_run_until(net, 1_000_000), Status::Ok);
        refused(anabranch_network_run_until(net, 999_999), "run_until: 999999 ps: it is 1000000 ps; ");
        refused(anabranch_network_send(net, Message { at_ps: 1, ..message }, out), "send: at 1 ps: it is ");

        // What is sent as it should be ends as it should, and leaves one at a time if there is room for one.
        let (later, back) =
            (Message { at_ps: 100_000_000, ..message }, Message { src: 3, dst: 1, ..message });
        assert_eq!(anabranch_network_send_many(net, [later, back].as_ptr(), 2, out), Status::Ok);
        assert_eq!(anabranch_network_ideal(net, message, &raw mut time), Status::Ok);
        assert_eq!(anabranch_network_run_until(net, 1_000_000_000), Status::Ok);
        let mut ends = [End { at_ps: 0, message: 0, whole: 0 }; 2];
        let mut take = |room: usize| {
            assert_eq!(anabranch_network_take_done(net, ends.as_mut_ptr(), room, &raw mut taken), Status::Ok);
            ends[..taken].to_vec()
        };
        assert!(take(0).is_empty());
        assert_eq!(anabranch_network_done(net), 2);
        let early = take(1)[0];
        assert_eq!((early.message, early.whole), (number + 1, 1));
        assert!(early.at_ps - 1_000_000 >= time && time > 0, "{early:?}, ideal {time}");
        // It stays while an end waits.
        assert_eq!(anabranch_network_run_until_any_done(net, 2_000_000_000), Status::Ok);
        assert_eq!(anabranch_network_now(net), 1_000_000_000);
        let late = take(2);
        assert_eq!((late.len(), late[0].message, late[0].whole), (1, number, 1));
        assert!(late[0].at_ps >= 100_000_000 + time);
        assert_eq!(anabranch_network_done(net), 0);
        assert_eq!(anabranch_network_run_until_any_done(net, 2_000_000_000), Status::Ok);
        assert_eq!(anabranch_network_now(net), 2_000_000_000);
    }
    assert_eq!((anabranch_network_hosts(net), anabranch_network_hosts(None)), (4, 0));
    assert_eq!(anabranch_network_now(None), NO_TIME);
    anabranch_network_free(Some(network));
}
