//! Clove: weights that marks move, flowlets, and the rules by which they find a path.

use super::edges_environment::{Environment, counts, member_of, packet};
use anabranch_balancers::clove::pick::{Clove, Feedback, Note, ONE, Parameters, Path, Selection, State};
use anabranch_split::apportion::gravity;
use anabranch_split::picks::{FlowTable, Pick, score};
use anabranch_split::{Env, pick};

type Entries = Vec<score::Entry>;
type Under = Clove<FlowTable<Note>, Vec<Path>, Entries>;
type States = State<FlowTable<Note>, Vec<Path>, Entries>;

fn of(selection: Selection) -> Parameters {
    Parameters { selection, ..Parameters::default() }
}

fn fresh(paths: usize) -> States {
    State { paths: vec![Path::default(); paths], ..State::default() }
}

fn mark(plan: &Parameters, state: &mut States, path: u16, env: &mut Environment) {
    Under::learn(plan, state, &Feedback::Marked(path), env);
}

fn weights(state: &States) -> Vec<f64> {
    state.paths.iter().map(|path| f64::from(path.weight) / f64::from(ONE)).collect()
}

fn assert_weights(state: &States, expected: &[f64]) {
    let found = weights(state);
    assert_eq!(found.len(), expected.len());
    let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
    assert!(near, "{found:?} instead of {expected:?}");
}

/// Picks for flows of one packet each, so that every pick is a flowlet of its own.
fn picks(plan: &Parameters, state: &mut States, env: &mut Environment, number: u64) -> [u32; 4] {
    counts((0..number).map(|flow| {
        env.now_ns += 1000;
        pick::<Under, Environment>(plan, state, &mut packet(flow.wrapping_mul(0x9e37_79b9_7f4a_7c15)), env)
    }))
}

#[test]
fn one_mark_moves_a_third_and_a_second_within_half_a_round_trip_is_ignored() {
    let (plan, mut state, mut env) = (of(Selection::Turns), fresh(4), Environment::new());
    mark(&plan, &mut state, 0, &mut env);
    let golden = [2.0 / 3.0, 10.0 / 9.0, 10.0 / 9.0, 10.0 / 9.0];
    assert_weights(&state, &golden);
    env.now_ns += plan.interval_ns - 1;
    mark(&plan, &mut state, 0, &mut env);
    assert_weights(&state, &golden);
    env.now_ns += 1;
    mark(&plan, &mut state, 0, &mut env);
    assert_weights(&state, &[4.0 / 9.0, 32.0 / 27.0, 32.0 / 27.0, 32.0 / 27.0]);
    let sum: u64 = state.paths.iter().map(|path| u64::from(path.weight)).sum();
    assert_eq!(sum, 4 * u64::from(ONE), "to the unit");
}

#[test]
fn blocks_go_path_after_path_and_begin_anew_with_every_change_of_a_weight() {
    let (plan, mut state, mut env) = (of(Selection::Blocks), fresh(4), Environment::new());
    let one = |state: &mut States, flow: u64, env: &mut Environment| {
        env.now_ns += 1000;
        pick::<Under, Environment>(&plan, state, &mut packet(flow), env)
    };
    let first: Vec<u16> = (0..101).map(|flow| one(&mut state, flow, &mut env)).collect();
    let expected: Vec<u16> = (0..101).map(|entry| entry / 25 % 4).collect();
    assert_eq!(first, expected);
    // The flowlet on path 1 goes on there, until a weight changes: then it takes the first entry.
    assert_eq!(one(&mut state, 30, &mut env), 1);
    mark(&plan, &mut state, 3, &mut env);
    assert_eq!(one(&mut state, 30, &mut env), 0);
    assert_eq!(one(&mut state, 30, &mut env), 0, "known again");
    // Weights of 10/9, 10/9, 10/9 and 2/3: blocks of 27, 27, 27 and 16.
    assert_eq!(picks(&plan, &mut state, &mut env, 96), [26, 27, 27, 16]);
}

#[test]
fn only_paths_without_a_mark_of_late_inherit_and_all_others_if_there_is_none() {
    let (plan, mut state, mut env) = (of(Selection::Turns), fresh(3), Environment::new());
    mark(&plan, &mut state, 0, &mut env);
    mark(&plan, &mut state, 1, &mut env);
    // What path 1 lost went to path 2 alone.
    assert_weights(&state, &[2.0 / 3.0, 7.0 / 9.0, 14.0 / 9.0]);
    mark(&plan, &mut state, 2, &mut env);
    let third = 14.0 / 27.0;
    assert_weights(&state, &[2.0 / 3.0 + third / 2.0, 7.0 / 9.0 + third / 2.0, 2.0 * third]);
    // After the window they are free again, but for the one that was marked since.
    env.now_ns += plan.congested_ns;
    mark(&plan, &mut state, 1, &mut env);
    let before = weights(&state);
    mark(&plan, &mut state, 0, &mut env);
    let after = weights(&state);
    assert_eq!(after[1], before[1]);
    assert!((after[2] - before[2] - before[0] / 3.0).abs() < 1e-6);
}

#[test]
fn a_dead_path_inherits_nothing_and_the_last_one_loses_nothing() {
    let (plan, mut state, mut env) = (of(Selection::Turns), fresh(2), Environment::new());
    env.dead.push(1);
    mark(&plan, &mut state, 0, &mut env);
    assert_weights(&state, &[1.0, 1.0]);
    // A mark of a path there is not.
    mark(&plan, &mut state, 9, &mut env);
    assert_weights(&state, &[1.0, 1.0]);
}

#[test]
fn turns_are_exact_and_draws_are_near_the_weights() {
    for (selection, tolerance) in [(Selection::Turns, 1), (Selection::Random, 1000)] {
        let (plan, mut state, mut env) = (of(selection), fresh(4), Environment::new());
        mark(&plan, &mut state, 0, &mut env);
        let counts = picks(&plan, &mut state, &mut env, 36_000);
        for (count, expected) in counts.iter().zip([6_000u32, 10_000, 10_000, 10_000]) {
            assert!(count.abs_diff(expected) <= tolerance, "{selection:?}: {counts:?}");
        }
    }
}

#[test]
fn a_flowlet_stays_together_and_the_next_takes_its_turn() {
    let (plan, mut state, mut env) = (of(Selection::Turns), fresh(4), Environment::new());
    let mut next = |gap_ns: u64, env: &mut Environment| {
        env.now_ns += gap_ns;
        pick::<Under, Environment>(&plan, &mut state, &mut packet(5), env)
    };
    let burst: Vec<u16> = (0..10).map(|_| next(plan.gap_ns, &mut env)).collect();
    assert_eq!(burst, [0; 10]);
    let flowlets: Vec<u16> = (0..4).map(|_| next(plan.gap_ns + 1, &mut env)).collect();
    assert_eq!(flowlets, [1, 2, 3, 0]);
}

#[test]
fn a_dying_path_loses_its_flowlets_at_once() {
    let (plan, mut state, mut env) = (of(Selection::Turns), fresh(4), Environment::new());
    assert_eq!(pick::<Under, Environment>(&plan, &mut state, &mut packet(5), &mut env), 0);
    mark(&plan, &mut state, 0, &mut env);
    env.dead.push(0);
    Under::port_changed(&plan, &mut state, 0, false, &mut env);
    assert_eq!(member_of(&state.flows, 5), None);
    assert_eq!(picks(&plan, &mut state, &mut env, 3000)[0], 0);
    env.dead.clear();
    Under::port_changed(&plan, &mut state, 0, true, &mut env);
    assert_eq!(state.paths[0].weight, ONE);
    assert!(picks(&plan, &mut state, &mut env, 4000)[0] > 800);
}

#[test]
fn int_takes_the_least_utilised_and_tries_what_it_has_not_heard_of() {
    let (plan, mut state, mut env) = (of(Selection::LeastUtilised), fresh(4), Environment::new());
    assert!(picks(&plan, &mut state, &mut env, 4000).iter().all(|&count| count > 800), "all unknown");
    for (path, level) in [(0, 200), (1, 90), (2, 91), (3, 255)] {
        Under::learn(&plan, &mut state, &Feedback::Utilisation { path, level }, &mut env);
    }
    assert_eq!(picks(&plan, &mut state, &mut env, 100), [0, 100, 0, 0]);
    Under::learn(&plan, &mut state, &Feedback::Utilisation { path: 1, level: 91 }, &mut env);
    let [first, one, two, last] = picks(&plan, &mut state, &mut env, 1000);
    assert!(first == 0 && last == 0 && one > 400 && two > 400, "equals alike");
    env.now_ns += plan.ageing_ns + 1;
    Under::learn(&plan, &mut state, &Feedback::Utilisation { path: 1, level: 1 }, &mut env);
    assert_eq!(picks(&plan, &mut state, &mut env, 300)[1], 0, "what is old counts as zero");
}

/// Makes entries of scores, as an environment must.
fn plan_scores(plan: &Parameters, state: &mut States, env: &mut Environment) -> bool {
    let due = state.scored.due(env.now_ns(), plan.interval_ns);
    if due {
        let weights: Vec<u64> = state.paths.iter().map(|path| path.weight.into()).collect();
        state.scored.entries = gravity::entries(&weights);
    }
    due
}

#[test]
fn scores_over_gravities_follow_the_weights_no_more_often_than_allowed() {
    let (plan, mut state, mut env) = (of(Selection::Score), fresh(4), Environment::new());
    assert!(plan_scores(&plan, &mut state, &mut env));
    assert!(!plan_scores(&plan, &mut state, &mut env), "nothing moved");
    mark(&plan, &mut state, 0, &mut env);
    assert!(!plan_scores(&plan, &mut state, &mut env), "too early");
    env.now_ns += plan.interval_ns;
    assert!(plan_scores(&plan, &mut state, &mut env));
    let counts = picks(&plan, &mut state, &mut env, 72_000);
    for (count, expected) in counts.iter().zip([12_000u32, 20_000, 20_000, 20_000]) {
        assert!(count.abs_diff(expected) < 500, "{counts:?}");
    }
}

#[test]
fn a_scored_flowlet_is_found_by_flow_and_number_alone() {
    let run = || {
        let (plan, mut state, mut env) = (of(Selection::Score), fresh(4), Environment::new());
        plan_scores(&plan, &mut state, &mut env);
        let flowlets = (0..64).map(|_| {
            env.now_ns += plan.gap_ns + 1;
            // Draws in between change nothing.
            env.random_u32();
            pick::<Under, Environment>(&plan, &mut state, &mut packet(3), &mut env)
        });
        flowlets.collect::<Vec<_>>()
    };
    let first = run();
    assert_eq!(first, run());
    assert!((0..4).all(|path| first.contains(&path)), "{first:?}");
}
