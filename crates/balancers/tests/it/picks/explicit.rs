//! Explicit paths: turns by weight and what probes say, by steps worked by hand.

use super::environment::Environment;
use anabranch_balancers::explicit::pick::{Explicit, Feedback, Parameters, Path, State};
use anabranch_split::{Packet, Pick, pick};

/// Two hosts with paths of these weights.
struct Pair {
    state: State<Vec<Path>>,
    env: Environment,
}

impl Pair {
    fn of(weights: &[u32], seed: u64) -> Self {
        let paths = weights.iter().map(|&weight| Path::new(weight)).collect();
        Self { state: State::new(paths), env: Environment::seeded(seed) }
    }

    fn takes(&mut self, count: usize) -> Vec<u16> {
        let mut one = || {
            let plan = Parameters::DEFAULT;
            pick::<Explicit<Vec<Path>>, _>(&plan, &mut self.state, &mut Packet::default(), &mut self.env)
        };
        (0..count).map(|_| one()).collect()
    }

    fn learn(&mut self, feedback: Feedback) {
        Explicit::<Vec<Path>>::learn(&Parameters::DEFAULT, &mut self.state, &feedback, &mut self.env);
    }

    fn answered(&mut self, path: u16, sent_ns: u64) {
        self.learn(Feedback::Answered { path, sent_ns });
    }

    fn due(&mut self, sent_ns: u64) {
        self.learn(Feedback::Due { sent_ns });
    }

    fn silent(&self) -> Vec<u16> {
        (0..4).filter(|&path| self.state.is_silent(path)).collect()
    }
}

/// Each round of as many turns as the weights sum to has each path as often as it weighs, wherever it begins.
#[test]
fn rounds_have_the_weights() {
    for seed in 0..50 {
        let mut pair = Pair::of(&[5, 1, 2], seed);
        for round in pair.takes(80).chunks(8) {
            let of = |path: u16| round.iter().filter(|&&taken| taken == path).count();
            assert_eq!([of(0), of(1), of(2)], [5, 1, 2], "{round:?}");
        }
    }
    // The largest weights neither overflow nor starve a path.
    let taken = Pair::of(&[u32::MAX, u32::MAX], 1).takes(10);
    assert_eq!(taken.iter().filter(|&&path| path == 0).count(), 5);
}

/// The first turn of many pairs is each path's as often as it weighs.
#[test]
fn first_turns_have_the_weights() {
    let firsts: Vec<u16> = (0..4000).map(|seed| Pair::of(&[3, 1], seed).takes(1)[0]).collect();
    let first = firsts.iter().filter(|&&path| path == 0).count() as f64;
    // Binomial with mean 3,000 and standard deviation 27.
    assert!((first - 3000.0).abs() < 5.0 * 27.4, "{first}");
}

#[test]
fn a_path_that_misses_an_answer_is_out_until_one_comes() {
    let mut pair = Pair::of(&[1, 1, 1], 7);
    for (path, sent_ns) in [(0, 100), (1, 100), (2, 100), (0, 200), (2, 200)] {
        pair.answered(path, sent_ns);
    }
    pair.due(100);
    assert_eq!(pair.silent(), [0u16; 0], "all answered the first");
    pair.due(200);
    assert_eq!(pair.silent(), [1]);
    assert!(pair.takes(20).iter().all(|&path| path != 1));
    // The answer to a probe that left before the missed one says nothing; the late answer to the missed one does.
    pair.answered(1, 100);
    assert_eq!(pair.silent(), [1]);
    pair.answered(1, 200);
    assert_eq!(pair.silent(), [0u16; 0]);
    assert_eq!(pair.state.counts(), (1, 1));
    let taken = pair.takes(30);
    assert_eq!([0, 1, 2].map(|path| taken.iter().filter(|&&taken| taken == path).count()), [10, 10, 10]);
}

/// An answer to a later probe stands for those before it.
#[test]
fn a_later_answer_counts() {
    let mut pair = Pair::of(&[1, 1], 7);
    pair.answered(0, 300);
    pair.answered(1, 200);
    pair.due(200);
    assert_eq!(pair.silent(), [0u16; 0]);
    pair.due(300);
    assert_eq!(pair.silent(), [1]);
}

#[test]
fn where_no_path_answers_all_are_used() {
    let mut pair = Pair::of(&[2, 1], 7);
    pair.due(100);
    assert_eq!(pair.silent(), [0, 1]);
    let taken = pair.takes(30);
    assert_eq!([0, 1].map(|path| taken.iter().filter(|&&taken| taken == path).count()), [20, 10]);
}
