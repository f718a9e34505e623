//! Load balancers that keep state at switches or hosts, on several threads: probes, flow tables, timers and what packets carry
//! between switches are the same for any cut of the fabric.

use super::partitions::{dragonfly, fat_tree, leaf_spine, racks_by_lot};
use super::setup::*;
use super::threads::{bursts, by_lot, changes, compare, settings_of};
use anabranch_balancers::dbb::parameters::Dbb;
use anabranch_balancers::dbb::pick::Counter;
use anabranch_balancers::mrc::pick as mrc;
use anabranch_balancers::{Balancing, Descriptor, Granularity, Scheme, Settings, Table, Task, registry};
use anabranch_fabric::Fabric;
use anabranch_sim::{Framing, Outcome, Partition, Progress, SimulationError};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn schemes() -> impl Iterator<Item = &'static Descriptor> {
    registry::all()
        .filter(|descriptor| descriptor.balancing().scheme.get().is_some_and(|scheme| scheme.runs_in_parts()))
}

fn simulated(
    fabric: &Fabric,
    settings: &Settings,
    cut: Option<&Partition>,
) -> Result<Outcome, SimulationError> {
    let (flows, progress) = (bursts(fabric), Progress::default());
    let task = Task::new(fabric, &flows, settings, &progress)?;
    cut.map_or(Ok(task), |cut| task.on_threads(cut))?.simulate()
}

/// Compares all that take a fabric; returns the names of those, and of those that differ.
fn differing(fabric: &Fabric, cuts: &[Partition]) -> (Vec<&'static str>, BTreeMap<&'static str, String>) {
    let (mut names, mut differing) = (Vec::new(), BTreeMap::new());
    for descriptor in schemes() {
        let plain = settings_of(Table::Uniform, changes(fabric), 2);
        let mut settings = Settings { balancing: descriptor.balancing(), ..plain };
        settings.observe.events_max = 300;
        settings.observe.capture_ports = (0..fabric.ports().len() as u32).collect();
        settings.observe.capture_packets_max = 300;
        let Ok(whole) = simulated(fabric, &settings, None) else { continue };
        names.push(descriptor.name);
        for (number, cut) in cuts.iter().enumerate() {
            let run = || {
                let parts = simulated(fabric, &settings, Some(cut)).unwrap();
                compare(&whole, &parts, &format!("{}, cut {number}", descriptor.name));
            };
            if let Err(why) = catch_unwind(AssertUnwindSafe(run)) {
                let why = why.downcast_ref::<String>().cloned().unwrap_or_default();
                differing.insert(descriptor.name, format!("{number}: {}", &why[..why.len().min(300)]));
            }
        }
    }
    (names, differing)
}

#[test]
fn schemes_of_leaves_have_the_same_bits() {
    let fabric = leaf_spine();
    let cuts = [Partition::by_leaves(&fabric, 2), racks_by_lot(&fabric, 1, 4), by_lot(&fabric, 2, 3)];
    let (names, differing) = differing(&fabric, &cuts);
    assert!(differing.is_empty(), "{differing:#?}");
    let of_papers = ["conga", "dbb", "luopan", "hula", "ars", "glb", "presto", "clove-ecn", "vms", "mrc"];
    for name in of_papers {
        assert!(names.contains(&name), "{name} is not among {names:?}");
    }
}

#[test]
fn schemes_of_any_tier_have_the_same_bits() {
    let fabric = fat_tree();
    let (names, differing) = differing(&fabric, &[Partition::by_leaves(&fabric, 3), by_lot(&fabric, 1, 3)]);
    assert!(differing.is_empty() && names.len() > 15, "{differing:#?} of {names:?}");
}

#[test]
fn schemes_of_a_dragonfly_have_the_same_bits() {
    let fabric = dragonfly();
    let (names, differing) = differing(&fabric, &[Partition::by_leaves(&fabric, 2), by_lot(&fabric, 1, 3)]);
    assert!(differing.is_empty(), "{differing:#?}");
    for name in ["valiant", "ugal-l", "spritz-scout", "spritz-spray"] {
        assert!(names.contains(&name), "{name} is not among {names:?}");
    }
}

/// A probe may be shorter than the least frame that hosts send: no window is longer than it takes.
#[test]
fn probes_shorter_than_frames_come_in_time() {
    let (fabric, hula) = (leaf_spine(), registry::all().find(|one| one.name == "hula").unwrap());
    let plain = settings_of(Table::Uniform, Vec::new(), 2);
    let framing = Framing { frame_bytes_min: 1500, ..plain.framing };
    let settings = Settings { balancing: hula.balancing(), framing, ..plain };
    let whole = simulated(&fabric, &settings, None).unwrap();
    assert!(whole.counts.iter().any(|&(what, count)| what == "probes sent" && count > 100));
    for cut in [Partition::by_leaves(&fabric, 2), racks_by_lot(&fabric, 1, 3)] {
        compare(&whole, &simulated(&fabric, &settings, Some(&cut)).unwrap(), "short probes");
    }
}

/// A message of a host is no packet of the connection whose name is the host's number: it has a flowlet of its own.
#[test]
fn flowlets_of_hosts_messages_have_the_same_bits() {
    let fabric = leaf_spine();
    let mrc = mrc::Parameters { entropies: 2, ..mrc::Parameters::DEFAULT };
    let balancing = Balancing {
        granularity: Granularity::Flowlet { gap_ns: 500_000 },
        scheme: Scheme::new(mrc),
        ..Balancing::ECMP
    };
    for seed in [2, 4, 5] {
        let plain = settings_of(Table::Uniform, changes(&fabric), seed);
        let settings = Settings { balancing: balancing.clone(), ..plain };
        let whole = simulated(&fabric, &settings, None).unwrap();
        for cut in [Partition::by_leaves(&fabric, 2), racks_by_lot(&fabric, seed, 4)] {
            compare(&whole, &simulated(&fabric, &settings, Some(&cut)).unwrap(), &format!("seed {seed}"));
        }
    }
}

/// What reads other parts, or cannot be told apart from what does, takes one thread and says so.
#[test]
fn schemes_that_take_one_thread_say_so() {
    let (fabric, flows, progress) = (leaf_spine(), vec![flow(0, 11, 1000, 0)], Progress::default());
    let cut = Partition::by_leaves(&fabric, 2);
    let refuses = |balancing: Balancing| {
        let settings = Settings { balancing, ..settings_of(Table::Uniform, Vec::new(), 2) };
        let task = Task::new(&fabric, &flows, &settings, &progress).unwrap();
        task.one_thread(&cut).is_some_and(|reason| reason.contains("load balancers that read other parts"))
    };
    let refused = registry::all().filter(|descriptor| refuses(descriptor.balancing()));
    let names: Vec<&str> = refused.map(|descriptor| descriptor.name).collect();
    let expected = [
        "ideal",
        "saps",
        "wino",
        "omniscient",
        "ugal-g",
        "tdlb",
        "conweave",
        "flowcut",
        "hermes",
        "explicit",
    ];
    assert_eq!(names, expected);
    let mut dbb = Dbb::default();
    dbb.switches.counter = Counter::Independent;
    assert!(refuses(Balancing { scheme: Scheme::new(dbb), ..Balancing::ECMP }));
}
