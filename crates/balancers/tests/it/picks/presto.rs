//! Presto at the sender: the path that a packet takes.

use super::environment::Environment;
use anabranch_balancers::presto::pick as presto;
use anabranch_balancers::presto::pick::Presto;
use anabranch_split::picks::Flowcell;
use anabranch_split::picks::flowcell::number;
use anabranch_split::{Packet, pick};

const CELL: u64 = Flowcell::BYTES as u64;

/// Path of the packet whose first byte is number `first_byte`.
fn path(list: &[u16], state: &mut presto::State, env: &mut Environment, first_byte: u64) -> u16 {
    let cell = number(first_byte, CELL) as u32;
    pick::<Presto, Environment>(list, state, &mut Packet { cell, ..Packet::default() }, env)
}

#[test]
fn a_cell_is_told_by_the_first_byte_of_its_packets() {
    assert_eq!(CELL, 65_536);
    // 45 segments of 1,448 bytes begin in the first cell, 46 in all end in it or beyond.
    let firsts = |cell: u64| (0..1_000u64).filter(|i| number(i * 1448, CELL) == cell).count();
    assert_eq!([firsts(0), firsts(1), firsts(2)], [46, 45, 45]);
    assert_eq!(number(65_535, CELL), 0);
    assert_eq!(number(65_536, CELL), 1);
    let published = Presto::CELL_BYTES_AS_PUBLISHED.into();
    assert_eq!(
        [9 * 1400, 10 * 1400].map(|byte| number(byte, published)),
        [0, 1],
        "ten packets of 1,400 bytes"
    );
}

#[test]
fn cells_take_the_list_in_turn_and_what_is_sent_again_takes_its_cells_path() {
    let list = [0, 1, 2, 3, 4];
    for seed in 0..20 {
        let (mut state, mut env) = (presto::State::default(), Environment::seeded(seed));
        let taken: Vec<u16> =
            (0..20).map(|cell| path(&list, &mut state, &mut env, cell * CELL + 1448)).collect();
        for (now, next) in taken.iter().zip(&taken[1..]) {
            assert_eq!(*next, (now + 1) % 5);
        }
        for cell in [3, 0, 17] {
            assert_eq!(path(&list, &mut state, &mut env, cell * CELL + 60_000), taken[cell as usize]);
        }
    }
}

#[test]
fn flows_begin_anywhere() {
    let mut begun = [0; 4];
    for seed in 0..400 {
        let mut env = Environment::seeded(seed);
        begun[usize::from(path(&[0, 1, 2, 3], &mut presto::State::default(), &mut env, 0))] += 1;
    }
    assert!(begun.iter().all(|count| (60..140).contains(count)), "{begun:?}");
}

#[test]
fn a_dead_path_is_passed_over_and_an_empty_list_does_no_harm() {
    let list = [0, 1, 1, 2];
    let (mut state, mut env) = (presto::State::default(), Environment::default());
    env.dead = vec![1];
    let taken: Vec<u16> = (0..8).map(|cell| path(&list, &mut state, &mut env, cell * CELL)).collect();
    assert_eq!(taken, [0, 2, 2, 2, 0, 2, 2, 2]);
    env.dead = vec![0, 1, 2];
    assert_eq!(path(&list, &mut state, &mut env, CELL), 1, "nothing lives: its own");
    assert_eq!(path(&[], &mut presto::State::default(), &mut env, CELL), 0);
}
