//! VMS: weights that move by rounds, windows, and the rules by which packets find a channel.

use super::edges_environment::{Environment, counts, packet};
use anabranch_balancers::vms::pick::{Channel, Feedback, ONE, Parameters, Selection, State, Vms};
use anabranch_split::apportion::gravity;
use anabranch_split::picks::{Packet, Pick, score};
use anabranch_split::{Env, pick};

type Under = Vms<Vec<Channel>, Vec<score::Entry>>;
type States = State<Vec<Channel>, Vec<score::Entry>>;

fn fresh(plan: &Parameters, channels: usize) -> States {
    State::new(vec![Channel::new(plan); channels])
}

fn of(selection: Selection) -> Parameters {
    Parameters { selection, ..Parameters::default() }
}

fn hear(plan: &Parameters, state: &mut States, news: (u16, u32, u32), env: &mut Environment) {
    let (channel, packets, marked) = news;
    Under::learn(plan, state, &Feedback { channel, packets, marked }, env);
}

/// Ends the round: the weights move.
fn next_round(plan: &Parameters, state: &mut States, env: &mut Environment) {
    env.now_ns += plan.round_ns;
    hear(plan, state, (0, 0, 0), env);
}

fn weight(state: &States, channel: usize) -> f64 {
    f64::from(state.channels[channel].weight) / f64::from(ONE)
}

#[test]
fn weights_move_once_a_round_by_the_fraction_of_marks() {
    let plan = of(Selection::HeavierOfTwo);
    let (mut state, mut env) = (fresh(&plan, 4), Environment::new());
    next_round(&plan, &mut state, &mut env);
    // f = 1/2 over the round: w (1 - 1/4) + 1/8 (1 - 1/2).
    hear(&plan, &mut state, (1, 3, 0), &mut env);
    hear(&plan, &mut state, (1, 5, 4), &mut env);
    assert_eq!(weight(&state, 1), 1.0, "not before the round is over");
    next_round(&plan, &mut state, &mut env);
    assert!((weight(&state, 1) - 0.8125).abs() < 1e-4, "{}", weight(&state, 1));
    assert_eq!(weight(&state, 2), 1.0, "nothing heard, nothing moves");
    // Without marks: plus 1/8, up to one.
    for expected in [0.9375, 1.0, 1.0] {
        hear(&plan, &mut state, (1, 4, 0), &mut env);
        next_round(&plan, &mut state, &mut env);
        assert!((weight(&state, 1) - expected).abs() < 1e-4);
    }
    // All marked: halved, down to the least.
    for expected in [0.5, 0.25, 0.125, 0.0625, 0.05, 0.05] {
        hear(&plan, &mut state, (1, 4, 4), &mut env);
        next_round(&plan, &mut state, &mut env);
        assert!((weight(&state, 1) - expected).abs() < 1e-4, "{}", weight(&state, 1));
    }
}

#[test]
fn the_heavier_of_two_is_taken_so_that_the_lightest_gets_nothing() {
    let plan = of(Selection::HeavierOfTwo);
    let (mut state, mut env) = (fresh(&plan, 4), Environment::new());
    let mut take = |state: &mut States, number| {
        counts((0..number).map(|_| pick::<Under, Environment>(&plan, state, &mut packet(1), &mut env)))
    };
    assert!(take(&mut state, 4000).iter().all(|&count| count > 850), "equals alike");
    for (channel, weight) in [ONE / 4, ONE / 3, ONE / 2, ONE].into_iter().enumerate() {
        state.channels[channel].weight = weight;
    }
    // Of six pairs the heaviest is in three, the next in two of the rest.
    let found = take(&mut state, 12_000);
    for (count, expected) in found.iter().zip([0u32, 2000, 4000, 6000]) {
        assert!(count.abs_diff(expected) < 200, "{found:?}");
    }
}

#[test]
fn one_living_channel_carries_all() {
    let plan = of(Selection::HeavierOfTwo);
    let (mut state, mut env) = (fresh(&plan, 4), Environment::new());
    env.dead.extend([0, 1, 3]);
    let found =
        counts((0..50).map(|_| pick::<Under, Environment>(&plan, &mut state, &mut packet(1), &mut env)));
    assert_eq!(found, [0, 0, 50, 0]);
}

#[test]
fn windows_fill_one_channel_after_the_other_and_overflow_where_there_is_most_room() {
    let plan = Parameters { window_initial: 3, ..of(Selection::Window) };
    let (mut state, mut env) = (fresh(&plan, 3), Environment::new());
    let take = |state: &mut States, env: &mut Environment| {
        pick::<Under, Environment>(&plan, state, &mut packet(1), env)
    };
    let filled: Vec<u16> = (0..9).map(|_| take(&mut state, &mut env)).collect();
    assert_eq!(filled, [0, 0, 0, 1, 1, 1, 2, 2, 2]);
    let over: Vec<u16> = (0..3).map(|_| take(&mut state, &mut env)).collect();
    assert_eq!(over, [2, 0, 1], "from the last one on");
    hear(&plan, &mut state, (0, 2, 0), &mut env);
    assert_eq!(take(&mut state, &mut env), 0);
    assert_eq!(state.channels[0].in_flight(), 3);
}

#[test]
fn windows_grow_by_one_where_they_were_needed_and_shrink_by_marks() {
    let plan = Parameters { window_initial: 16, ..of(Selection::Window) };
    let (mut state, mut env) = (fresh(&plan, 1), Environment::new());
    next_round(&plan, &mut state, &mut env);
    let packets = |state: &States| state.channels[0].window as f64 / f64::from(ONE);
    hear(&plan, &mut state, (0, 4, 0), &mut env);
    next_round(&plan, &mut state, &mut env);
    assert_eq!(packets(&state), 16.0, "there was room");
    for _ in 0..17 {
        pick::<Under, Environment>(&plan, &mut state, &mut packet(1), &mut env);
    }
    hear(&plan, &mut state, (0, 17, 0), &mut env);
    next_round(&plan, &mut state, &mut env);
    assert_eq!(packets(&state), 17.0);
    // A first round of marks alone: the average fraction is 1/16, half of which is taken.
    hear(&plan, &mut state, (0, 8, 8), &mut env);
    next_round(&plan, &mut state, &mut env);
    assert!((packets(&state) - 17.0 * (1.0 - 1.0 / 32.0)).abs() < 1e-3, "{}", packets(&state));
}

#[test]
fn a_channel_that_nobody_hears_of_falls_to_the_least_and_leaves_nothing_in_flight() {
    let plan = of(Selection::Window);
    let (mut state, mut env) = (fresh(&plan, 2), Environment::new());
    for _ in 0..15 {
        pick::<Under, Environment>(&plan, &mut state, &mut packet(1), &mut env);
    }
    assert_eq!(state.channels[0].in_flight(), 10);
    let mut weights = Vec::new();
    for _ in 0..3 {
        env.now_ns += plan.lost_after_ns;
        hear(&plan, &mut state, (1, 1, 0), &mut env);
        weights.push((weight(&state, 0), weight(&state, 1), state.channels[0].in_flight()));
    }
    assert_eq!(weights[1..], [(0.5, 1.0, 0), (0.5, 1.0, 0)]);
    assert_eq!(state.channels[0].window, u64::from(ONE), "one packet");
    // What arrives after all is no credit.
    hear(&plan, &mut state, (0, 10, 0), &mut env);
    assert_eq!(state.channels[0].in_flight(), 0);
}

#[test]
fn scores_keep_units_together_and_share_by_weight() {
    let plan = of(Selection::ScoreOfUnit);
    let (mut state, mut env) = (fresh(&plan, 4), Environment::new());
    state.channels[3].weight = ONE / 2;
    assert!(state.scored.due(env.now_ns(), plan.round_ns));
    let weights: Vec<u64> = state.channels.iter().map(|channel| channel.weight.into()).collect();
    state.scored.entries = gravity::entries(&weights);
    let mut take = |state: &mut States, cell: u32| {
        pick::<Under, Environment>(&plan, state, &mut Packet { cell, ..packet(77) }, &mut env)
    };
    let found = counts((0..70_000).map(|cell| take(&mut state, cell)));
    for (count, expected) in found.iter().zip([20_000u32, 20_000, 20_000, 10_000]) {
        assert!(count.abs_diff(expected) < 500, "{found:?}");
    }
    for cell in 0..20 {
        assert_eq!(take(&mut state, cell), take(&mut state, cell));
    }
    let flows = Parameters { selection: Selection::ScoreOfFlow, ..plan.clone() };
    let mut whole = |cell: u32| {
        let mut asked = Packet { cell, ..packet(77) };
        pick::<Under, Environment>(&flows, &mut state, &mut asked, &mut Environment::new())
    };
    assert!((1..50).all(|cell| whole(cell) == whole(0)), "whole flows");
}
