//! Draining against a table of all connections: who keeps its member until when, over random histories.

use anabranch_split::{Connections, Group, Members, Parameters, Weights};
use proptest::prelude::*;
use std::collections::HashMap;

#[derive(Clone, Debug)]
enum Event {
    Drain {
        member: u16,
        lasts_ns: u64,
    },
    Undrain(u16),
    /// A member fails or returns.
    Flip(usize),
    Weigh(usize, u64),
    /// Time passes.
    Wait(u64),
    /// First packet of a connection, or a later one if it lives.
    Packet {
        key: u64,
        begins: bool,
    },
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        2 => (0u16..6, 1u64..400).prop_map(|(member, lasts_ns)| Event::Drain { member, lasts_ns }),
        1 => (0u16..6).prop_map(Event::Undrain),
        1 => (0usize..6).prop_map(Event::Flip),
        1 => (0usize..6, 1u64..20).prop_map(|(member, weight)| Event::Weigh(member, weight)),
        3 => (1u64..100).prop_map(Event::Wait),
        20 => (0u64..200, any::<bool>()).prop_map(|(key, begins)| Event::Packet { key, begins }),
    ];
    prop::collection::vec(event, 1..400)
}

/// Flow of a small number: all of its bits depend on it.
fn flow(key: u64) -> u64 {
    let mixed = (key + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}

/// Model: a copy of the group before each drain, with the number of changes until then and the deadline.
struct Model {
    before: Vec<(usize, u64, Group)>,
    changes: usize,
    /// Every connection that lives, with the number of changes when it began; none if it counts as older than all.
    table: HashMap<u64, usize>,
}

impl Model {
    /// The member of a packet, and the connection entered into the table if it begins.
    fn pick(&mut self, group: &Group, key: u64, begins: bool, now_ns: u64) -> u16 {
        let present = group.pick(flow(key));
        let lasting = self.before.iter().filter(|(_, until_ns, _)| now_ns < *until_ns).collect::<Vec<_>>();
        if begins {
            // Where the plans agree about a key, nobody could tell its connections apart.
            let agreed = lasting.iter().all(|(_, _, before)| before.pick(flow(key)) == present);
            self.table.insert(key, if agreed { 0 } else { self.changes });
            return present;
        }
        let began = self.table[&key];
        let kept = lasting
            .iter()
            .find(|(change, _, _)| began < *change)
            .map(|(_, _, before)| before.pick(flow(key)));
        kept.filter(|&member| group.members().up()[usize::from(member)]).unwrap_or(present)
    }
}

proptest! {
    #[test]
    fn picks_are_those_of_a_table_of_all_connections(
        (technique, parameter) in prop_oneof![
            Just(("min-move", Some(("slots", "4096")))),
            Just(("log-rendezvous", None)),
            Just(("maglev", Some(("entries", "1021")))),
        ],
        history in events(),
    ) {
        let weights = vec![5, 4, 3, 2, 1, 1];
        let mut up = vec![true; 6];
        let mut weighs = weights.clone();
        let all = Members::all_up(Weights::new(weights).unwrap());
        let group = Group::new(technique, &all, &Parameters::new(parameter)).unwrap();
        let mut connections = Connections::new();
        let mut model = Model { before: Vec::new(), changes: 0, table: HashMap::new() };
        let mut now_ns = 1000;
        for event in history {
            let old = group.clone();
            match event {
                Event::Drain { member, lasts_ns } => {
                    if group.drain(member, now_ns, now_ns + lasts_ns).is_ok() {
                        model.changes += 1;
                        model.before.push((model.changes, now_ns + lasts_ns, old));
                    }
                }
                Event::Undrain(member) => model.changes += usize::from(group.undrain(member).is_ok()),
                Event::Flip(member) => {
                    up[member] ^= true;
                    let changed = Members::new(Weights::new(weighs.clone()).unwrap(), up.clone());
                    match changed {
                        Ok(members) => {
                            group.update(&members).unwrap();
                            model.changes += 1;
                        }
                        Err(_) => up[member] ^= true,
                    }
                }
                Event::Weigh(member, weight) => {
                    weighs[member] = weight;
                    let members = Members::new(Weights::new(weighs.clone()).unwrap(), up.clone()).unwrap();
                    group.update(&members).unwrap();
                    model.changes += 1;
                }
                Event::Wait(ns) => now_ns += ns,
                Event::Packet { key, begins } => {
                    let begins = begins || !model.table.contains_key(&key);
                    let member = connections.pick(&group, flow(key), begins, now_ns);
                    prop_assert_eq!(member, model.pick(&group, key, begins, now_ns));
                    prop_assert!(up[usize::from(member)], "a member that is down gets no packet");
                    let members = group.members();
                    prop_assert!(!begins || !members.is_draining(member.into()), "no new connection on one that drains");
                    if model.before.iter().all(|(_, until_ns, _)| now_ns >= *until_ns) {
                        prop_assert_eq!(member, group.pick(flow(key)));
                        prop_assert_eq!(connections.state_bytes(), 0);
                    }
                }
            }
        }
    }
}

/// One drain, whatever the technique: every old connection stays until the deadline, and then those move that the change
/// of the plan moves.
#[test]
fn old_connections_stay_until_the_deadline_and_then_the_fewest_move() {
    let all = Members::all_up(Weights::new(vec![4, 3, 2, 5]).unwrap());
    for technique in ["min-move", "log-rendezvous", "maglev", "valo", "rejection-cells", "ovs-dp-hash", "cdf"]
    {
        let group = Group::new(technique, &all, &Parameters::default()).unwrap();
        let mut connections = Connections::new();
        let old = (0..2000).map(|key| connections.pick(&group, flow(key), true, 0)).collect::<Vec<_>>();
        group.drain(1, 0, 100).unwrap();
        let new = (2000..4000).map(|key| connections.pick(&group, flow(key), true, 50)).collect::<Vec<_>>();
        assert!(!new.contains(&1), "{technique}: a new connection on the member that drains");
        // Only new connections are remembered whose keys the plan before would put elsewhere.
        let whole = Group::new(technique, &all, &Parameters::default()).unwrap();
        let elsewhere = (2000..).zip(&new).filter(|&(key, &member)| whole.pick(flow(key)) != member).count();
        let remembered = connections.state_bytes() / 17;
        assert!((elsewhere..4 * elsewhere).contains(&remembered), "{technique}: {remembered} of {elsewhere}");
        for (key, &member) in (0..).zip(old.iter().chain(&new)) {
            assert_eq!(connections.pick(&group, flow(key), false, 99), member, "{technique}: {key} moved");
        }
        let moved = (0..)
            .zip(&old)
            .filter(|&(key, &member)| connections.pick(&group, flow(key), false, 100) != member);
        let (moved, there) = (moved.count(), old.iter().filter(|&&member| member == 1).count());
        assert_eq!(connections.state_bytes(), 0);
        if ["min-move", "log-rendezvous"].contains(&technique) {
            assert_eq!(moved, there, "{technique}");
        }
        assert!(moved >= there);
    }
}

#[test]
fn a_member_that_drains_has_its_own_slots_back_and_a_snapshot_has_it_down() {
    let all = Members::all_up(Weights::new(vec![4, 3, 2]).unwrap());
    let group = Group::new("min-move", &all, &Parameters::default()).unwrap();
    let home = group.table();
    group.drain(1, 0, 9).unwrap();
    // Failing and returning changes nothing about the drain.
    group.update(&Members::new(all.weights().clone(), vec![false, true, true]).unwrap()).unwrap();
    group.update(&all).unwrap();
    assert!(group.members().is_draining(1) && group.members().up()[1]);
    assert_eq!(group.members().effective(), [4, 0, 2]);
    let restored = Group::restore(&group.snapshot().unwrap()).unwrap();
    assert_eq!(restored.revision().unwrap(), group.revision().unwrap());
    assert_eq!((restored.members().up(), restored.table()), (&[true, false, true][..], group.table()));
    restored.update(&all).unwrap();
    group.undrain(1).unwrap();
    assert_eq!((group.table(), restored.table()), (home.clone(), home));
}

#[test]
fn a_member_that_drains_stands_in_where_no_other_is_up() {
    let all = Members::all_up(Weights::new(vec![4, 3]).unwrap());
    let group = Group::new("min-move", &all, &Parameters::default()).unwrap();
    group.drain(1, 0, 9).unwrap();
    assert!((0..100).all(|key| group.pick(flow(key)) == 0));
    group.update(&Members::new(all.weights().clone(), vec![false, true]).unwrap()).unwrap();
    assert!((0..100).all(|key| group.pick(flow(key)) == 1));
    group.update(&all).unwrap();
    assert!((0..100).all(|key| group.pick(flow(key)) == 0));
}

#[test]
fn what_cannot_drain_is_refused() {
    let all = Members::all_up(Weights::new(vec![4, 3]).unwrap());
    let group = Group::new("min-move", &all, &Parameters::default()).unwrap();
    let problem = |refused: Result<(), anabranch_split::PlanError>| refused.unwrap_err().problem;
    assert_eq!(problem(group.drain(0, 5, 5)), "until_ns: 5 is not after now, 5");
    assert_eq!(problem(group.drain(2, 5, 6)), "drain: no path 3");
    assert_eq!(problem(group.undrain(0)), "undrain: path 1 does not drain");
    group.drain(0, 5, 6).unwrap();
    assert_eq!(problem(group.drain(0, 5, 6)), "drain: path 1 drains already");
    assert_eq!(problem(group.drain(1, 5, 6)), "drain: path 2 is the last that takes connections");
    assert!(group.members().is_draining(0) && !group.members().is_draining(1));
    let remembers = Group::new("wrr", &all, &Parameters::default()).unwrap();
    assert!(problem(remembers.drain(0, 5, 6)).starts_with("drain: wrr remembers flows"));
}
