//! Spritz: weights by closed forms, and what is remembered, forgotten and blocked, by steps worked by hand.

use super::environment::Environment;
use anabranch_balancers::spritz::pick::{CACHED_MAX, Feedback, Flow, Parameters, Path, Spritz, State};
use anabranch_split::{Packet, Pick, pick};

type Under = Spritz<Vec<Path>>;

/// Two hosts with paths of these delays.
struct Pair {
    plan: Parameters,
    state: State<Vec<Path>>,
    flow: Flow,
    env: Environment,
}

impl Pair {
    fn of(plan: Parameters, delays: &[u64], weights: &[u32], seed: u64) -> Self {
        let [least, most] = [delays.iter().min(), delays.iter().max()].map(|end| *end.unwrap());
        let path = |(&delay, &weight)| Path::new(&plan, delay, least, most, weight);
        let state = State::new(delays.iter().zip(weights).map(path).collect(), 0);
        Self { state, flow: Flow::default(), env: Environment::seeded(seed), plan }
    }

    /// With 32 paths, as between two groups of the published dragonfly: one of 550 ns, all others of 1,075 or 1,050.
    fn of_dragonfly(plan: Parameters, seed: u64) -> Self {
        let mut delays = vec![550, 1050, 1050, 1050];
        delays.resize(32, 1075);
        Self::of(plan, &delays, &[1; 32], seed)
    }

    fn begin(&mut self, bytes: u64) {
        self.flow = self.state.begin(&self.plan, bytes, 1000, self.env.now_ns);
    }

    fn takes(&mut self, count: usize) -> Vec<u16> {
        let mut one = || {
            self.state.flow = self.flow;
            let path = pick::<Under, _>(&self.plan, &mut self.state, &mut Packet::default(), &mut self.env);
            self.flow = self.state.flow;
            path
        };
        (0..count).map(|_| one()).collect()
    }

    /// Shares of the paths in so many packets.
    fn shares(&mut self, count: usize) -> Vec<f64> {
        let mut shares = vec![0.0; 32];
        self.takes(count).into_iter().for_each(|path| shares[usize::from(path)] += 1.0 / count as f64);
        shares
    }

    fn learn(&mut self, feedback: Feedback) {
        self.state.flow = self.flow;
        Under::learn(&self.plan, &mut self.state, &feedback, &mut self.env);
        self.flow = self.state.flow;
    }

    fn good(&mut self, paths: &[u16]) {
        paths.iter().for_each(|&path| self.learn(Feedback::Arrived { path, marked: false }));
    }

    fn marked(&mut self, path: u16) {
        self.learn(Feedback::Arrived { path, marked: true });
    }
}

const BIG: u64 = 1 << 20;
/// Oblivious spraying: every packet is drawn.
const DRAWN: Parameters = Parameters { cached: 0, ..Parameters::SPRAY };

/// Whether shares of 200,000 draws are these, within five standard deviations.
fn assert_shares(shares: &[f64], expected: impl Fn(usize) -> f64) {
    for (path, &share) in shares.iter().enumerate() {
        let exact = expected(path);
        let sigma = (exact * (1.0 - exact) / 200_000.0).sqrt();
        assert!((share - exact).abs() <= 5.0 * sigma, "path {path}: {share} instead of {exact}");
    }
}

/// The longest weigh 1, others three times the longest delay over theirs.
#[test]
fn paths_are_drawn_by_their_delays() {
    let mut pair = Pair::of_dragonfly(DRAWN, 1);
    pair.begin(BIG);
    let [short, middle] = [3.0 * 1075.0 / 550.0, 3.0 * 1075.0 / 1050.0];
    let sum = short + 3.0 * middle + 28.0;
    assert_shares(&pair.shares(200_000), |path| {
        [short, middle, middle, middle].get(path).copied().unwrap_or(1.0) / sum
    });
}

#[test]
fn without_scaling_all_weigh_the_same() {
    let mut pair = Pair::of_dragonfly(Parameters { weight_scaling: 0, ..DRAWN }, 2);
    pair.begin(BIG);
    assert_shares(&pair.shares(200_000), |_| 1.0 / 32.0);
}

/// Below 512 KiB the shortest path weighs 100 and every other 1, whatever the scaling.
#[test]
fn small_flows_draw_the_shortest_path() {
    let mut pair = Pair::of_dragonfly(DRAWN, 3);
    pair.begin((1 << 19) - 1);
    assert_shares(&pair.shares(200_000), |path| if path == 0 { 100.0 / 131.0 } else { 1.0 / 131.0 });
    let (mut at, mut big) = (Pair::of_dragonfly(DRAWN, 3), Pair::of_dragonfly(DRAWN, 3));
    at.begin(1 << 19);
    big.begin(BIG);
    assert_eq!(at.takes(100), big.takes(100), "a flow of 512 KiB is not small");
}

/// Weights of a table multiply those by delay; among paths of one delay they alone count.
#[test]
fn weights_of_the_table_multiply() {
    let mut pair = Pair::of(DRAWN, &[500, 500, 1000], &[3, 1, 2], 4);
    pair.begin(BIG);
    assert_shares(&pair.shares(200_000), |path| [18.0, 6.0, 2.0].get(path).copied().unwrap_or(0.0) / 26.0);
}

/// Scout keeps the good paths by delay, each once, and stays on the shortest of them; of 46 packets one is drawn.
#[test]
fn scout_stays_on_the_best_known_path() {
    let mut pair = Pair::of_dragonfly(Parameters::SCOUT, 5);
    pair.begin(BIG);
    pair.good(&[20, 7, 20, 11]);
    assert_eq!(pair.state.good(), [7, 11, 20]);
    let drawn_before = pair.state.counts().1;
    assert_eq!(pair.takes(45), [7; 45]);
    assert_eq!(pair.state.counts().1, drawn_before);
    pair.takes(1);
    assert_eq!(pair.state.counts().1, drawn_before + 1);
    pair.good(&[3]);
    assert_eq!(pair.takes(45), [3; 45]);
    let mut never = Pair::of_dragonfly(Parameters { explore_threshold: 0, ..Parameters::SCOUT }, 5);
    never.begin(BIG);
    never.good(&[9]);
    assert_eq!(never.takes(1000), [9; 1000]);
}

#[test]
fn nine_paths_are_remembered() {
    for plan in [Parameters::SCOUT, Parameters::SPRAY] {
        let mut pair = Pair::of_dragonfly(plan, 6);
        pair.begin(BIG);
        pair.good(&(10..30).collect::<Vec<_>>());
        assert_eq!(pair.state.good(), (10..19).collect::<Vec<_>>());
        assert_eq!(pair.state.good().len(), CACHED_MAX);
    }
    let mut two = Pair::of_dragonfly(Parameters { cached: 2, ..Parameters::SCOUT }, 6);
    two.good(&[5, 4, 3]);
    assert_eq!(two.state.good(), [4, 5]);
}

/// The ninth mark on remembered paths takes out the path that has it; marks of others do not count.
#[test]
fn scout_forgets_marked_paths() {
    let mut pair = Pair::of_dragonfly(Parameters::SCOUT, 7);
    pair.begin(BIG);
    pair.good(&[2, 5]);
    (0..50).for_each(|_| pair.marked(9));
    (0..8).for_each(|_| pair.marked(2));
    assert_eq!(pair.state.good(), [2, 5]);
    pair.marked(5);
    assert_eq!(pair.state.good(), [2]);
    (0..8).for_each(|_| pair.marked(2));
    assert_eq!(pair.state.good(), [2], "they count from zero again");
    pair.marked(2);
    assert!(pair.state.good().is_empty());
}

/// A trimmed packet takes its path out of what Scout remembers, and blocks nothing; Spray passes over it.
#[test]
fn trimmed_packets_forget_and_do_not_block() {
    let mut scout = Pair::of_dragonfly(Parameters::SCOUT, 8);
    scout.good(&[2, 5]);
    (0..8).for_each(|_| scout.marked(5));
    scout.learn(Feedback::Trimmed { path: 2 });
    assert_eq!(scout.state.good(), [5]);
    assert!(!scout.state.is_blocked(2, 0));
    (0..8).for_each(|_| scout.marked(5));
    assert_eq!(scout.state.good(), [5], "marks count from zero again");
    let mut spray = Pair::of_dragonfly(Parameters::SPRAY, 8);
    spray.good(&[2, 5]);
    spray.learn(Feedback::Trimmed { path: 2 });
    assert_eq!(spray.state.good(), [2, 5]);
}

/// Spray uses each remembered path once, in the order in which packets came back; with none left it draws.
#[test]
fn spray_uses_good_paths_once_each() {
    let mut pair = Pair::of_dragonfly(Parameters::SPRAY, 9);
    pair.begin(BIG);
    pair.good(&[8, 3, 8]);
    pair.marked(6);
    assert_eq!(pair.takes(3), [8, 3, 8]);
    let drawn = pair.state.counts().1;
    pair.takes(42);
    assert_eq!(pair.state.counts().1, drawn + 42);
    // 45 packets have left: the next is drawn, and the good path waits.
    pair.good(&[4]);
    pair.takes(1);
    assert_eq!(pair.state.good(), [4]);
    assert_eq!(pair.takes(1), [4]);
}

/// One timeout, and a path is not drawn again: for good, or as long as `block` says.
#[test]
fn a_path_that_timed_out_is_blocked() {
    for scheme in [Parameters::SCOUT, Parameters::SPRAY] {
        for (block_ns, is_drawn) in [(None, false), (Some(5000), true), (Some(0), true)] {
            let mut pair = Pair::of_dragonfly(Parameters { block_ns, cached: 0, ..scheme.clone() }, 10);
            pair.begin(BIG);
            pair.env.now_ns = 100;
            pair.learn(Feedback::TimedOut { path: 0 });
            assert_eq!(pair.state.counts().0, u64::from(block_ns != Some(0)));
            assert_eq!(pair.takes(1000).contains(&0), block_ns == Some(0));
            pair.env.now_ns = 5100;
            assert_eq!(pair.state.is_blocked(0, 5100), !is_drawn);
            assert_eq!(pair.takes(1000).contains(&0), is_drawn);
        }
    }
    let mut scout = Pair::of_dragonfly(Parameters::SCOUT, 10);
    scout.good(&[2, 5]);
    scout.learn(Feedback::TimedOut { path: 2 });
    assert_eq!(scout.state.good(), [5]);
    // Others share what it had.
    let mut pair = Pair::of_dragonfly(Parameters { weight_scaling: 0, ..DRAWN }, 11);
    pair.begin(BIG);
    pair.learn(Feedback::TimedOut { path: 30 });
    pair.learn(Feedback::TimedOut { path: 31 });
    assert_shares(&pair.shares(200_000), |path| if path < 30 { 1.0 / 30.0 } else { 0.0 });
}

#[test]
fn where_all_paths_are_blocked_all_are_drawn() {
    let mut pair = Pair::of(Parameters { weight_scaling: 0, ..DRAWN }, &[500, 600], &[1, 1], 12);
    pair.begin(BIG);
    pair.learn(Feedback::TimedOut { path: 0 });
    assert_eq!(pair.takes(100), [1; 100]);
    pair.learn(Feedback::TimedOut { path: 1 });
    let shares = pair.shares(200_000);
    assert_shares(&shares[..2], |_| 0.5);
}

/// The next flow takes up what others remembered, unless nothing was heard for longer than `memory`; timeouts are no news.
#[test]
fn flows_take_up_what_others_remembered() {
    for (silence_ns, kept) in [(1000, true), (1001, false)] {
        let mut pair = Pair::of_dragonfly(Parameters::SCOUT, 13);
        pair.begin(BIG);
        pair.env.now_ns = 500;
        pair.good(&[6]);
        pair.env.now_ns = 500 + silence_ns;
        pair.learn(Feedback::TimedOut { path: 31 });
        pair.begin(BIG);
        assert_eq!(pair.state.good().is_empty(), !kept);
    }
}
