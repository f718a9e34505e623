#![allow(clippy::unwrap_used)] // A test may fail, its parts too.

use crate::luopan::pick::*;
use anabranch_split::picks::store::Heap;
use std::vec::Vec;

pub(super) struct Environment {
    pub(super) now_ns: u64,
    pub(super) random: u64,
    dead: Option<u16>,
}

impl Env for Environment {
    const GIVES: u32 = Luopan::<Vec<Vec<u16>>, Heap>::NEEDS;

    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }

    fn random_u32(&mut self) -> u32 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 32) as u32
    }

    fn up(&self, member: u16) -> bool {
        self.dead != Some(member)
    }
}

type Paths = Vec<Vec<u16>>;
type Subject = Luopan<Paths, Heap>;

pub(super) struct Leaf {
    plan: Plan<Paths>,
    pub(super) state: State<Heap>,
    pub(super) env: Environment,
}

impl Leaf {
    pub(super) fn new(parameters: Parameters, paths: Paths) -> Self {
        let (entries, slots) = (paths.len(), parameters.samples);
        let samples = || std::vec![Sample::default(); entries * usize::from(slots)].into_boxed_slice();
        let rows = std::vec![Entry::default(); entries].into_boxed_slice();
        let state = State::new(rows, samples(), samples(), slots);
        Self {
            plan: Plan { parameters, paths },
            state,
            env: Environment { now_ns: 0, random: 7, dead: None },
        }
    }

    pub(super) fn pick(&mut self, destination: u32) -> u16 {
        let mut packet = Packet { destination, ..Packet::default() };
        anabranch_split::pick::<Subject, _>(&self.plan, &mut self.state, &mut packet, &mut self.env)
    }

    pub(super) fn ask(&mut self, destination: u32) -> (Option<u64>, Vec<u16>) {
        let mut sent = Vec::new();
        let living = &self.plan.paths[destination as usize];
        let again = self.state.ask(&self.plan.parameters, living, destination, &mut self.env, |path| {
            sent.push(path);
        });
        (again, sent)
    }

    pub(super) fn answer(&mut self, destination: u32, path: u16, backlog_bytes: u32) {
        let answer = Answer { destination, path, backlog_bytes };
        Subject::learn(&self.plan, &mut self.state, &answer, &mut self.env);
    }

    fn held(&self, destination: u32) -> Vec<(u16, u32)> {
        self.state.samples(destination).iter().map(|sample| (sample.path, sample.backlog)).collect()
    }
}

fn all(paths: u16) -> Paths {
    std::vec![Vec::new(), (0..paths).collect()]
}

#[test]
fn nothing_is_asked_before_a_destination_is_in_use_and_first_cells_go_anywhere() {
    let mut leaf = Leaf::new(Parameters::default(), all(4));
    assert_eq!(leaf.ask(1), (None, Vec::new()));
    let mut counts = [0u32; 4];
    for _ in 0..40_000 {
        counts[usize::from(leaf.pick(1))] += 1;
    }
    // Binomial with n = 40,000 and p = 1/4: a standard deviation is 87.
    assert!(counts.iter().all(|count| count.abs_diff(10_000) < 435), "{counts:?}");
    let (again, sent) = leaf.ask(1);
    assert_eq!((again, sent.len()), (Some(40_000), 2));
    assert_ne!(sent[0], sent[1]);
}

#[test]
fn rounds_follow_each_other_every_40_us_and_samples_stay_until_the_next_are_there() {
    let mut leaf = Leaf::new(Parameters::default(), all(36));
    leaf.pick(1);
    let (_, first) = leaf.ask(1);
    leaf.env.now_ns = 30_000;
    leaf.answer(1, first[0], 5_000);
    assert!(leaf.held(1).is_empty(), "one of two answers");
    leaf.answer(1, first[1], 4_000);
    assert_eq!(leaf.held(1), [(first[0], 5_000), (first[1], 4_000)]);
    assert_eq!(leaf.pick(1), first[1]);
    leaf.env.now_ns = 40_000;
    let (again, second) = leaf.ask(1);
    assert_eq!((again, second.len()), (Some(80_000), 2), "the period counts from asking");
    assert_eq!(leaf.pick(1), first[1], "old samples serve while the round is under way");
    leaf.env.now_ns = 90_000;
    assert_eq!(leaf.ask(1), (Some(120_000), Vec::new()), "one round at a time, for 80 us");
    leaf.answer(1, second[0], 9_000);
    leaf.answer(1, second[1], 9_000);
    assert_eq!(leaf.held(1), [(second[0], 9_000), (second[1], 9_000)], "both replaced at once");
    let picks: Vec<u16> = (0..200).map(|_| leaf.pick(1)).collect();
    assert!(
        second.iter().all(|path| picks.iter().filter(|pick| *pick == path).count() > 60),
        "ties are shared"
    );
}

#[test]
fn a_probe_without_answer_in_80_us_loses_its_sample() {
    let mut leaf = Leaf::new(Parameters::default(), all(36));
    leaf.pick(1);
    let (_, sent) = leaf.ask(1);
    leaf.answer(1, sent[1], 77);
    leaf.env.now_ns = 79_999;
    assert_eq!(leaf.ask(1), (Some(80_000), Vec::new()));
    leaf.env.now_ns = 80_000;
    let (_, next) = leaf.ask(1);
    assert_eq!(next.len(), 2, "the next round is due");
    assert_eq!(leaf.held(1), [(sent[1], 77)]);
    if !next.contains(&sent[0]) {
        leaf.answer(1, sent[0], 88);
        assert_eq!(leaf.held(1), [(sent[1], 77), (sent[0], 88)], "what comes too late fills the gap");
    }
    leaf.env.now_ns = 160_000;
    leaf.ask(1);
    assert!(leaf.held(1).is_empty(), "no answer at all: nothing is known");
}

#[test]
fn literal_expiry_leaves_no_sample_while_probes_travel() {
    let parameters = Parameters { stale: Stale::Random, ..Parameters::default() };
    let mut leaf = Leaf::new(parameters, all(36));
    leaf.pick(1);
    let (_, sent) = leaf.ask(1);
    leaf.env.now_ns = 39_000;
    leaf.answer(1, sent[0], 1);
    leaf.answer(1, sent[1], 2);
    leaf.env.now_ns = 40_000;
    assert_eq!(leaf.ask(1), (Some(79_000), Vec::new()), "the period counts from the answers");
    assert_eq!(leaf.held(1).len(), 2);
    leaf.env.now_ns = 79_000;
    assert_eq!(leaf.ask(1).1.len(), 2);
    assert!(leaf.held(1).is_empty());
}

#[test]
fn an_idle_destination_is_forgotten() {
    let mut leaf = Leaf::new(Parameters::default(), all(4));
    leaf.pick(1);
    let (_, sent) = leaf.ask(1);
    leaf.env.now_ns = 40_000;
    for path in sent {
        leaf.answer(1, path, 3);
    }
    leaf.env.now_ns = 999_999;
    assert_eq!(leaf.ask(1).1.len(), 2);
    leaf.env.now_ns = 1_000_000;
    assert_eq!(leaf.ask(1), (None, Vec::new()));
    assert!(leaf.held(1).is_empty());
    leaf.answer(1, 2, 0);
    assert!(leaf.held(1).is_empty(), "an answer does not bring it back");
}

#[test]
fn paths_of_a_round_are_distinct_and_uniform() {
    let parameters = Parameters { samples: 3, expiry_ns: 1, patience_ns: 1, ..Parameters::default() };
    let mut leaf = Leaf::new(parameters, std::vec![std::vec![2, 3, 5, 7, 11, 13]]);
    let mut counts = [0u32; 14];
    for round in 0..20_000 {
        leaf.env.now_ns = round * 2;
        leaf.pick(0);
        let (_, sent) = leaf.ask(0);
        let mut sorted = sent.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), 3, "{sent:?}");
        for path in sent {
            counts[usize::from(path)] += 1;
        }
    }
    // Each of six paths is in half of 20,000 rounds; a standard deviation is 71.
    for path in [2, 3, 5, 7, 11, 13] {
        assert!(counts[path].abs_diff(10_000) < 355, "{counts:?}");
    }
}

#[test]
fn as_many_samples_as_paths_is_all_paths() {
    let parameters = Parameters { samples: 40, ..Parameters::default() };
    let mut leaf = Leaf::new(parameters, all(36));
    leaf.pick(1);
    let (_, mut sent) = leaf.ask(1);
    sent.sort_unstable();
    assert_eq!(sent, (0..36).collect::<Vec<_>>());
}

#[test]
fn keeping_the_best_asks_about_it_again_and_about_another() {
    let parameters = Parameters { resample: Resample::KeepBest, ..Parameters::default() };
    let mut leaf = Leaf::new(parameters, all(4));
    leaf.pick(1);
    let (_, sent) = leaf.ask(1);
    leaf.answer(1, sent[0], 100);
    leaf.answer(1, sent[1], 10);
    let mut others = [0u32; 4];
    for round in 1..300 {
        leaf.env.now_ns = round * 40_000;
        leaf.pick(1);
        let (_, next) = leaf.ask(1);
        assert_eq!((next.len(), next[0]), (2, sent[1]));
        assert_ne!(next[1], sent[1]);
        others[usize::from(next[1])] += 1;
        leaf.answer(1, next[0], 10);
        leaf.answer(1, next[1], 100);
    }
    assert_eq!(others.iter().filter(|&&count| count > 60).count(), 3, "the others take turns: {others:?}");
}

#[test]
fn seven_bits_make_nearly_equal_backlogs_a_tie() {
    let parameters = Parameters { step_bytes: probe::step_bytes(4, 300_000), ..Parameters::default() };
    let mut leaf = Leaf::new(parameters, all(2));
    leaf.pick(1);
    leaf.ask(1);
    leaf.answer(1, 0, 9_448);
    leaf.answer(1, 1, 0);
    assert_eq!(leaf.held(1).iter().map(|&(_, steps)| steps).max(), Some(0));
    let zeros = (0..400).filter(|_| leaf.pick(1) == 0).count();
    assert!((150..250).contains(&zeros), "{zeros} of 400");
}

#[test]
fn dead_paths_are_purged_and_never_asked_about() {
    let mut leaf = Leaf::new(Parameters::default(), all(4));
    leaf.pick(1);
    let (_, sent) = leaf.ask(1);
    leaf.answer(1, sent[0], 1);
    leaf.answer(1, sent[1], 2);
    leaf.env.dead = Some(sent[0]);
    assert_eq!(leaf.pick(1), sent[1], "the switch sees its own port");
    leaf.env.dead = None;
    leaf.plan.paths[1].retain(|&path| path != sent[0]);
    let Leaf { plan, state, .. } = &mut leaf;
    state.purge(&plan.parameters, 1, &plan.paths[1], 10_000);
    assert_eq!(leaf.held(1), [(sent[1], 2)]);
    for round in 1..100 {
        leaf.env.now_ns = round * 80_000;
        leaf.pick(1);
        assert!(!leaf.ask(1).1.contains(&sent[0]));
    }
}

#[test]
fn a_round_whose_last_open_probe_died_is_over() {
    let mut leaf = Leaf::new(Parameters::default(), all(4));
    leaf.pick(1);
    let (_, sent) = leaf.ask(1);
    leaf.answer(1, sent[0], 1);
    leaf.plan.paths[1].retain(|&path| path != sent[1]);
    let Leaf { plan, state, .. } = &mut leaf;
    state.purge(&plan.parameters, 1, &plan.paths[1], 10_000);
    assert_eq!(leaf.held(1), [(sent[0], 1)]);
}
