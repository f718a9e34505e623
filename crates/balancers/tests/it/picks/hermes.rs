//! Hermes: classes of paths, cautious moves, failures.

use super::edges_environment::{Environment, counts, packet};
use anabranch_balancers::hermes::pick::{Feedback, Hermes, Note, Parameters, Path, State};
use anabranch_split::pick;
use anabranch_split::picks::{FlowTable, Packet, Pick};

type Under = Hermes<FlowTable<Note>, Vec<Path>>;
type States = State<FlowTable<Note>, Vec<Path>>;

const BASE_NS: u32 = 50_000;
const SHORT_NS: u32 = BASE_NS + 10_000;
const MIDDLE_NS: u32 = BASE_NS + 60_000;
const LONG_NS: u32 = BASE_NS + 200_000;

fn plan() -> Parameters {
    Parameters { rtt_base_ns: Some(BASE_NS.into()), ..Parameters::default() }
}

fn fresh() -> States {
    State::new(FlowTable::default(), vec![Path::default(); 4])
}

fn probe(
    plan: &Parameters,
    state: &mut States,
    (path, rtt_ns, marked): (u16, u32, bool),
    env: &mut Environment,
) {
    Under::learn(plan, state, &Feedback::Probed { path, rtt_ns, marked }, env);
}

fn send(plan: &Parameters, state: &mut States, flow: u64, env: &mut Environment) -> u16 {
    pick::<Under, Environment>(plan, state, &mut packet(flow), env)
}

/// First packets of new flows, far apart so that their load does not count.
fn newcomers(plan: &Parameters, state: &mut States, env: &mut Environment, number: u64) -> [u32; 4] {
    counts((0..number).map(|_| {
        env.now_ns += 10_000_000;
        send(plan, state, env.now_ns, env)
    }))
}

/// Flow on path 0 that has sent enough to move, slowly.
fn old_flow(plan: &Parameters, state: &mut States, env: &mut Environment) {
    env.dead = vec![1, 2, 3];
    assert_eq!(send(plan, state, 5, env), 0);
    env.dead.clear();
    while_sending(plan, state, env, plan.sent_min_bytes / 1538 + 1);
}

/// Continues flow 5 with a packet each 100 us; it stays on path 0.
fn while_sending(plan: &Parameters, state: &mut States, env: &mut Environment, packets: u64) {
    for _ in 0..packets {
        env.now_ns += 100_000;
        assert_eq!(send(plan, state, 5, env), 0);
    }
}

#[test]
fn new_flows_take_good_paths_before_grey_before_congested() {
    let (plan, mut state, mut env) = (plan(), fresh(), Environment::new());
    assert!(newcomers(&plan, &mut state, &mut env, 400).iter().all(|&count| count > 50), "all grey");
    probe(&plan, &mut state, (0, LONG_NS, true), &mut env);
    assert_eq!(newcomers(&plan, &mut state, &mut env, 90)[0], 0, "grey before congested");
    probe(&plan, &mut state, (2, SHORT_NS, false), &mut env);
    assert_eq!(newcomers(&plan, &mut state, &mut env, 90), [0, 0, 90, 0]);
    // A short round trip with marks is grey, as is a long one without.
    probe(&plan, &mut state, (1, SHORT_NS, true), &mut env);
    probe(&plan, &mut state, (3, LONG_NS, false), &mut env);
    assert_eq!(newcomers(&plan, &mut state, &mut env, 90), [0, 0, 90, 0]);
    for path in 0..4 {
        state.paths[path] = Path::default();
        probe(&plan, &mut state, (path as u16, LONG_NS, true), &mut env);
    }
    assert!(newcomers(&plan, &mut state, &mut env, 400).iter().all(|&count| count > 50), "any");
}

#[test]
fn of_good_paths_the_one_with_least_sent_from_here() {
    let (plan, mut state, mut env) = (plan(), fresh(), Environment::new());
    for path in 0..4 {
        probe(&plan, &mut state, (path, SHORT_NS, false), &mut env);
    }
    let first: Vec<u16> = (0..4).map(|flow| send(&plan, &mut state, flow, &mut env)).collect();
    let mut sorted = first.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [0, 1, 2, 3], "{first:?}");
    // Three of them go on; the fourth is where the next flow goes.
    (0..3).for_each(|flow| assert_eq!(send(&plan, &mut state, flow, &mut env), first[flow as usize]));
    assert_eq!(send(&plan, &mut state, 9, &mut env), first[3]);
}

#[test]
fn a_flow_moves_off_a_congested_path_if_it_is_large_and_slow_and_another_is_notably_better() {
    let (plan, mut state, mut env) = (plan(), fresh(), Environment::new());
    old_flow(&plan, &mut state, &mut env);
    probe(&plan, &mut state, (0, LONG_NS, true), &mut env);
    // Better, but not by more than the margin; better, but marked as much.
    probe(&plan, &mut state, (1, LONG_NS - plan.better_rtt_ns as u32, false), &mut env);
    probe(&plan, &mut state, (2, SHORT_NS, true), &mut env);
    while_sending(&plan, &mut state, &mut env, 5);
    probe(&plan, &mut state, (3, MIDDLE_NS, true), &mut env);
    while_sending(&plan, &mut state, &mut env, 5);
    state.paths[3] = Path::default();
    probe(&plan, &mut state, (3, MIDDLE_NS, false), &mut env);
    env.now_ns += 100_000;
    assert_eq!(send(&plan, &mut state, 5, &mut env), 3, "a grey one, there being no good one");
    assert_eq!(send(&plan, &mut state, 5, &mut env), 3, "and stays");
}

#[test]
fn a_small_flow_a_fast_flow_and_one_on_a_grey_path_stay() {
    let (plan, env) = (plan(), Environment::new);
    let ready = |env: &mut Environment, sent_min_bytes: u64| {
        let mut state = fresh();
        old_flow(&Parameters { sent_min_bytes, ..plan.clone() }, &mut state, env);
        probe(&plan, &mut state, (1, SHORT_NS, false), env);
        state
    };
    let (mut small, mut at) = (env(), env());
    let mut state = ready(&mut small, 100_000);
    probe(&plan, &mut state, (0, LONG_NS, true), &mut small);
    while_sending(&plan, &mut state, &mut small, 5);
    let mut state = ready(&mut at, plan.sent_min_bytes);
    probe(&plan, &mut state, (0, LONG_NS, false), &mut at);
    while_sending(&plan, &mut state, &mut at, 5);
    // 1538 bytes each 2 us are 6 Gb/s.
    for _ in 0..300 {
        at.now_ns += 2000;
        send(&plan, &mut state, 5, &mut at);
    }
    for _ in 0..30 {
        probe(&plan, &mut state, (0, LONG_NS, true), &mut at);
        at.now_ns += 2000;
        assert_eq!(send(&plan, &mut state, 5, &mut at), 0, "fast");
    }
    at.now_ns += 1_000_000;
    assert_eq!(send(&plan, &mut state, 5, &mut at), 1, "slow, hence not for want of a better path");
}

#[test]
fn readings_of_the_public_model_are_keys() {
    let plan = Parameters {
        by_marks: false,
        any_good: true,
        guard_ns: 1_000_000,
        ageing_ns: Some(2_000_000),
        ..plan()
    };
    let (mut state, mut env) = (fresh(), Environment::new());
    old_flow(&plan, &mut state, &mut env);
    // Congested by its round trip alone, left for a good path whatever the margin.
    probe(&plan, &mut state, (0, BASE_NS + plan.rtt_high_ns as u32 + 1, false), &mut env);
    env.now_ns += 100_000;
    assert_eq!(send(&plan, &mut state, 5, &mut env), 0, "nowhere to go");
    probe(&plan, &mut state, (2, BASE_NS + plan.rtt_low_ns as u32 - 1, true), &mut env);
    assert_eq!(send(&plan, &mut state, 5, &mut env), 0, "too early to ask again");
    env.now_ns += 1_000_000;
    assert_eq!(send(&plan, &mut state, 5, &mut env), 2);
    // What is too old is not known.
    env.now_ns += plan.ageing_ns.unwrap() + 1;
    assert!(newcomers(&plan, &mut state, &mut env, 100)[0] > 5, "grey again");
    let never = Parameters { move_probability: 0, guard_ns: 0, ..plan };
    let (mut state, mut env) = (fresh(), Environment::new());
    old_flow(&never, &mut state, &mut env);
    probe(&never, &mut state, (0, LONG_NS, false), &mut env);
    probe(&never, &mut state, (2, SHORT_NS, false), &mut env);
    while_sending(&never, &mut state, &mut env, 5);
}

#[test]
fn three_timeouts_without_an_answer_fail_a_path() {
    let (plan, mut state, mut env) = (plan(), fresh(), Environment::new());
    let mut flow = 0;
    let mut time_out = |state: &mut States, destination: u32, answered: bool, env: &mut Environment| {
        flow += 1;
        env.dead = vec![1, 2, 3];
        send(&plan, state, flow, env);
        env.dead.clear();
        if answered {
            let sent_ns = env.now_ns;
            let ack = Feedback::Acknowledged { flow, destination, sent_ns, timed: false, marked: false };
            Under::learn(&plan, state, &ack, env);
        }
        Under::learn(&plan, state, &Feedback::TimedOut { flow, destination }, env);
        send(&plan, state, flow, env)
    };
    // Answers in between, and another destination, begin the count anew.
    for (destination, answered) in [(8, false), (8, false), (8, true), (8, false), (9, false), (8, false)] {
        time_out(&mut state, destination, answered, &mut env);
        assert!(!state.paths[0].has_failed(&plan, env.now_ns));
    }
    time_out(&mut state, 8, false, &mut env);
    time_out(&mut state, 8, false, &mut env);
    assert!(state.paths[0].has_failed(&plan, env.now_ns));
    assert_eq!(newcomers(&plan, &mut state, &mut env, 90)[0], 0);
    let forgiving = Parameters { forgive_ns: Some(1_000_000), ..plan.clone() };
    assert!(!state.paths[0].has_failed(&forgiving, env.now_ns + 1_000_000));
    Under::port_changed(&plan, &mut state, 0, true, &mut env);
    assert!(newcomers(&plan, &mut state, &mut env, 400)[0] > 50);
}

/// Sends 200 packets of a flow over 20 ms, each `every`-th of them again, all on path 0 to begin with.
fn lossy(plan: &Parameters, state: &mut States, env: &mut Environment, every: u64) -> u16 {
    env.dead = vec![1, 2, 3];
    send(plan, state, 5, env);
    env.dead.clear();
    let mut path = 0;
    for number in 1..=200 {
        env.now_ns += 100_000;
        if number % every == 0 {
            Under::learn(plan, state, &Feedback::Retransmitted(5), env);
        }
        path = send(plan, state, 5, env);
    }
    path
}

#[test]
fn losses_without_congestion_fail_a_path() {
    let plan = plan();
    let (mut state, mut env) = (fresh(), Environment::new());
    assert_ne!(lossy(&plan, &mut state, &mut env, 33), 0, "3 %");
    assert!(state.paths[0].has_failed(&plan, env.now_ns));
    let (mut state, mut env) = (fresh(), Environment::new());
    assert_eq!(lossy(&plan, &mut state, &mut env, 150), 0, "0.7 %");
    // The same losses on a congested path are congestion's.
    let (mut state, mut env) = (fresh(), Environment::new());
    probe(&plan, &mut state, (0, LONG_NS, true), &mut env);
    assert_eq!(lossy(&plan, &mut state, &mut env, 33), 0);
    assert!(!state.paths[0].has_failed(&plan, env.now_ns));
}

#[test]
fn what_was_sent_before_a_move_speaks_of_the_path_it_left() {
    let (plan, mut state, mut env) = (plan(), fresh(), Environment::new());
    old_flow(&plan, &mut state, &mut env);
    let before_ns = env.now_ns;
    probe(&plan, &mut state, (0, LONG_NS, true), &mut env);
    probe(&plan, &mut state, (1, SHORT_NS, false), &mut env);
    env.now_ns += 100_000;
    assert_eq!(send(&plan, &mut state, 5, &mut env), 1);
    env.now_ns += 100_000;
    let heard = |state: &mut States, sent_ns: u64, env: &mut Environment| {
        let ack = Feedback::Acknowledged { flow: 5, destination: 1, sent_ns, timed: true, marked: true };
        (0..64).for_each(|_| Under::learn(&plan, state, &ack, env));
    };
    // 200 us and marks, 64 times over, leave path 1 good: new flows still go there.
    heard(&mut state, before_ns, &mut env);
    assert_eq!(newcomers(&plan, &mut state, &mut env, 30), [0, 30, 0, 0]);
    heard(&mut state, before_ns + 100_000, &mut env);
    assert_eq!(newcomers(&plan, &mut state, &mut env, 30)[1], 0);
}

#[test]
fn flows_on_a_path_are_counted_and_forgotten_when_they_end() {
    let plan = Parameters { by_flows: true, ..plan() };
    let (mut state, mut env) = (fresh(), Environment::new());
    let mut take = |flow: u64, state: &mut States| {
        let mut asked = Packet { bytes: 1, ..packet(flow) };
        pick::<Under, Environment>(&plan, state, &mut asked, &mut env)
    };
    let spread = counts((0..40).map(|flow| take(flow, &mut state)));
    assert_eq!(spread, [10; 4]);
    for flow in 0..40 {
        if take(flow, &mut state) == 2 {
            Under::learn(&plan, &mut state, &Feedback::Closed(flow), &mut Environment::new());
        }
    }
    // Those that ended are swept away little by little as others begin.
    let next: Vec<u16> = (100..400).map(|flow| take(flow, &mut state)).collect();
    assert!(next[..20].iter().filter(|&&path| path == 2).count() >= 5, "{next:?}");
    let total = counts(next.into_iter());
    assert!(total[2] >= total[0] + 7, "{total:?}");
}

#[test]
fn grey_paths_are_compared_by_steps_of_their_round_trips_first() {
    let stepped = Parameters { rtt_step_ns: Some(10_000), ..plan() };
    let round_trips = [MIDDLE_NS, MIDDLE_NS + 25_000, MIDDLE_NS + 5_000, MIDDLE_NS + 40_000];
    for (plan, reached) in [(plan(), [true; 4]), (stepped, [true, false, true, false])] {
        let (mut state, mut env) = (fresh(), Environment::new());
        for (path, rtt_ns) in (0..4).zip(round_trips) {
            probe(&plan, &mut state, (path, rtt_ns, false), &mut env);
        }
        assert_eq!(newcomers(&plan, &mut state, &mut env, 100).map(|count| count > 0), reached);
    }
}

#[test]
fn a_new_sample_has_its_weight_in_the_averages() {
    // Above the base: 200 us and four samples of 10 us are 10 + 190 / 2^4 us with a half, 10 + 190 (7 / 8)^4 with an eighth.
    for (sample_weight, is_good) in [(500_000, true), (125_000, false)] {
        let plan = Parameters { sample_weight, ..plan() };
        let (mut state, mut env) = (fresh(), Environment::new());
        for rtt_ns in [LONG_NS, SHORT_NS, SHORT_NS, SHORT_NS, SHORT_NS] {
            probe(&plan, &mut state, (1, rtt_ns, false), &mut env);
        }
        assert_eq!(newcomers(&plan, &mut state, &mut env, 40) == [0, 40, 0, 0], is_good);
    }
}
