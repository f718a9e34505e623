//! Tables of detours in dragonflies and Slim Fly: how many there are of which length, from the graphs.

use anabranch_fabric::topology::{Dragonfly, LeafSpine, LinkSettings, SlimFly};
use anabranch_fabric::{Fabric, PathTable};
use std::collections::{BTreeMap, BTreeSet};

fn all_pairs(fabric: &Fabric) -> Vec<(u32, u32)> {
    let leaves = fabric.leaves();
    leaves.iter().flat_map(|&from| leaves.iter().map(move |&to| (from, to))).filter(|(a, b)| a != b).collect()
}

/// Lengths of the paths of each pair, which lead from its first router to its last and meet none twice.
fn lengths(fabric: &Fabric, table: &PathTable) -> BTreeMap<(u32, u32), Vec<usize>> {
    let mut lengths = BTreeMap::<_, Vec<usize>>::new();
    let mut listed = BTreeSet::new();
    for path in table.iter() {
        let mut met = vec![path.ends.0];
        for &port in &path.ports {
            let ends = &fabric.ports()[port as usize];
            assert_eq!(ends.from, met[met.len() - 1]);
            met.push(ends.to);
        }
        assert_eq!(met[met.len() - 1], path.ends.1);
        assert_eq!(met.iter().collect::<BTreeSet<_>>().len(), met.len(), "{met:?}");
        assert!(listed.insert(path.ports.clone()), "{met:?} is listed twice");
        assert_eq!(path.weight, 1);
        lengths.entry(path.ends).or_default().push(path.ports.len());
    }
    lengths
}

/// Between two of g groups there is one path by each of the other g - 2, and the minimal one; between two of the a routers of a
/// group the link, and a path of two by each of the other a - 2.
#[test]
fn a_dragonfly_has_a_detour_by_each_group() {
    let link = |delay_ps| LinkSettings { delay_ps, ..LinkSettings::default() };
    let shape = Dragonfly {
        routers_per_group: 4,
        hosts_per_router: 1,
        global_links_per_router: 2,
        local_link: link(25_000),
        global_link: link(500_000),
        ..Dragonfly::default()
    };
    let fabric = shape.build().unwrap();
    let table = PathTable::with_detours(&fabric, all_pairs(&fabric)).unwrap();
    let group = |node: u32| fabric.nodes()[node as usize].pod.unwrap();
    let found = lengths(&fabric, &table);
    assert_eq!(found.len(), 36 * 35);
    for (&(from, to), lengths) in &found {
        if group(from) == group(to) {
            assert_eq!(lengths, &[1, 2, 2]);
            continue;
        }
        assert_eq!(lengths.len(), 8);
        let delay = |path: u32| table.ports(path).iter().map(|&port| fabric.ports()[port as usize].delay_ps);
        let delays: Vec<u64> = table.between(&fabric, from, to).map(|path| delay(path).sum()).collect();
        assert!(delays.is_sorted());
        let crossings = |path: u32| delay(path).filter(|&delay_ps| delay_ps == 500_000).count();
        let by: Vec<usize> = table.between(&fabric, from, to).map(crossings).collect();
        assert_eq!(by, [1, 2, 2, 2, 2, 2, 2, 2], "the minimal path first, with one link between groups");
        assert!(lengths[0] <= 3 && lengths.iter().all(|&length| length <= 5), "{lengths:?}");
    }
}

/// Hoffman and Singleton's graph has no triangle and no square. Two neighbours have detours of four links by the 36 routers that
/// are next to neither; two others share one neighbour, and have one detour of three links for each of the 6 other links of the
/// first, and one of four by each of the 30 routers that are next to neither and not to the neighbour they share.
#[test]
fn slim_fly_has_detours_by_every_router() {
    let fabric = SlimFly { q: 5, hosts_per_router: 1, ..SlimFly::default() }.build().unwrap();
    let table = PathTable::with_detours(&fabric, all_pairs(&fabric)).unwrap();
    let found = lengths(&fabric, &table);
    assert_eq!(found.len(), 50 * 49);
    for lengths in found.values() {
        let of = |length: usize| lengths.iter().filter(|&&one| one == length).count();
        let counts = [1, 2, 3, 4].map(of);
        assert!(counts == [1, 0, 0, 36] || counts == [0, 1, 6, 30], "{counts:?}");
        assert_eq!(lengths.len(), 37);
    }
    assert_eq!(found.values().filter(|lengths| lengths[0] == 1).count(), 50 * 7);
}

/// Only pairs that are asked for have paths, and pairs that are given twice have them once.
#[test]
fn only_pairs_that_are_asked_for_have_paths() {
    let fabric = Dragonfly::default().build().unwrap();
    let leaves = fabric.leaves();
    let pair = (leaves[0], leaves[9]);
    let table = PathTable::with_detours(&fabric, [pair, pair]).unwrap();
    assert_eq!((table.pairs(), table.len()), (1, 8));
    assert!(table.between(&fabric, leaves[9], leaves[0]).is_empty());
}

/// Spines join leaves by shortest paths alone.
#[test]
fn leaves_that_are_not_linked_have_no_detours() {
    let fabric = LeafSpine { leaves: 3, spines: 4, ..LeafSpine::default() }.build().unwrap();
    let table = PathTable::with_detours(&fabric, all_pairs(&fabric)).unwrap();
    assert_eq!(table, PathTable::shortest(&fabric, None).unwrap());
}
