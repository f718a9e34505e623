#![allow(clippy::unwrap_used)] // A test may fail, its parts too.

use crate::tdlb::pick::delays::{Algorithm, Delay, Extremes, Pair, Preference};
use crate::tdlb::pick::separator::{Cell, Departure, Port, Record};
use crate::tdlb::pick::*;
use anabranch_split::picks::FlowTable;
use anabranch_split::picks::store::Heap;
use std::boxed::Box;
use std::vec;
use std::vec::Vec;

/// Delays in microseconds, as the reference lists them.
const TRACE: [(u16, i64); 6] = [(0, 40), (1, 60), (2, 50), (0, 70), (1, 45), (2, 50)];
const RING: u32 = 64;

/// Paths of which number i to destination 1 begins with uplink i.
struct Spines(Vec<u16>);

impl Paths for Spines {
    fn living(&self, destination: u32) -> &[u16] {
        if destination == 1 { &self.0 } else { &[] }
    }
}

impl Uplinks for Spines {
    fn uplink(&self, _destination: u32, path: u16) -> u16 {
        path
    }

    fn threshold_bytes(&self, _port: u16) -> u32 {
        15_000
    }
}

type Subject = Tdlb<Spines, FlowTable<u64>, Heap>;

struct Environment {
    now_ns: u64,
    queues: [u32; 4],
    random: u32,
    dead: Option<u16>,
}

impl Env for Environment {
    const GIVES: u32 = Subject::NEEDS;

    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }

    fn random_u32(&mut self) -> u32 {
        self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.random
    }

    fn backlog_bytes(&mut self, member: u16) -> u32 {
        self.queues[usize::from(member)]
    }

    fn up(&self, member: u16) -> bool {
        self.dead != Some(member)
    }
}

/// No path is congested.
fn always(_path: u16, _env: &mut Environment) -> bool {
    true
}

fn filled<T: Copy + Default>(len: usize) -> Box<[T]> {
    vec![T::default(); len].into_boxed_slice()
}

fn separator() -> Separator<Heap> {
    Separator::new(filled::<Port>(4), filled::<Departure>(4 * RING as usize), RING, filled::<Cell>(1 << 16))
}

fn delays(algorithm: Algorithm) -> Delays<Heap> {
    Delays::new(filled::<Pair>(2), filled::<Delay>(2 * 4), 4, algorithm, Preference::Fastest, 300_000)
}

struct Switch {
    plan: Plan<Spines>,
    state: State<FlowTable<u64>, Heap>,
    env: Environment,
}

impl Switch {
    fn new(parameters: Parameters) -> Self {
        let delays = delays(parameters.algorithm);
        let state =
            State { flows: FlowTable::default(), separator: separator(), delays, counts: Counts::default() };
        let env = Environment { now_ns: 0, queues: [0; 4], random: 1, dead: None };
        Self { plan: Plan { parameters, paths: Spines(vec![0, 1, 2, 3]) }, state, env }
    }

    /// Sends a packet of 1500 bytes; returns its path and tag.
    fn send(&mut self, flow: u64) -> (u16, u32) {
        let mut packet = Packet { flow, bytes: 1500, destination: 1, ..Packet::default() };
        let path =
            anabranch_split::pick::<Subject, _>(&self.plan, &mut self.state, &mut packet, &mut self.env);
        (path, packet.tag)
    }

    fn learn(&mut self, feedback: Feedback) {
        Subject::learn(&self.plan, &mut self.state, &feedback, &mut self.env);
    }

    fn delay(&mut self, path: u16, us: i64) {
        self.learn(Feedback::Delay { destination: 1, path, delay_ns: us * 1000 });
    }

    /// Flow that its hash sends along `path`.
    fn flow_on(&self, path: u64, number: u64) -> u64 {
        number << 32 | path << 30 | number
    }
}

#[test]
fn algorithm_2_from_a_table_follows_the_trace() {
    let mut table = delays(Algorithm::Table);
    let mut env = Environment { now_ns: 0, queues: [0; 4], random: 0, dead: None };
    let mut seen = Vec::new();
    for (path, us) in TRACE {
        table.heard(&[0, 1, 2], 1, path, us, 0);
        seen.push((table.difference_ns(1), table.preferred(&[0, 1, 2], 1, 0, 0, always, &mut env)));
    }
    let expected = [(0, 0), (20, 0), (20, 0), (20, 2), (25, 1), (25, 1)];
    assert_eq!(seen, expected.map(|(timeout, path)| (Some(timeout), Some(path))));
}

#[test]
fn algorithm_2_as_printed_yields_negative_timeouts() {
    let mut extremes = Extremes::default();
    let mut seen = Vec::new();
    for (path, us) in TRACE {
        extremes.probe(path, us);
        seen.push((extremes.difference_ns(), extremes.preferred(Preference::Fastest)));
    }
    let differences = [None, Some(20), Some(20), Some(-10), Some(-25), Some(-5)];
    assert_eq!(seen.iter().map(|&(difference, _)| difference).collect::<Vec<_>>(), differences);
    assert!(seen[..5].iter().all(|&(_, fastest)| fastest == Some(0)), "path 0 stays the fastest at 70 us");
    let bounds = Parameters::default();
    assert_eq!(bounds.timeout_ns(Some(-25_000)), bounds.timeout_min_ns);
    assert_eq!(bounds.timeout_ns(None), 500_000);
    assert_eq!(bounds.timeout_ns(Some(2_000_000)), 500_000);
    assert_eq!(bounds.timeout_ns(Some(25_000)), 25_000);
}

#[test]
fn clocks_that_differ_change_neither_timeout_nor_ranking() {
    let mut env = Environment { now_ns: 0, queues: [0; 4], random: 0, dead: None };
    for skew in [-1_000_000, 0, 1_000_000] {
        let mut table = delays(Algorithm::Table);
        for (path, us) in TRACE {
            table.heard(&[0, 1, 2], 1, path, us * 1000 + skew, 0);
        }
        assert_eq!(table.difference_ns(1), Some(25_000));
        assert_eq!(table.preferred(&[0, 1, 2], 1, 0, 0, always, &mut env), Some(1));
    }
}

#[test]
fn delays_expire_and_dead_paths_do_not_count() {
    let mut table = delays(Algorithm::Table);
    let mut env = Environment { now_ns: 0, queues: [0; 4], random: 0, dead: None };
    table.heard(&[0, 1], 1, 0, 10, 0);
    table.heard(&[0, 1], 1, 1, 20, 200_000);
    assert_eq!(table.preferred(&[0, 1], 1, 0, 300_000, always, &mut env), Some(0));
    assert_eq!(
        table.preferred(&[0, 1], 1, 0, 300_001, always, &mut env),
        Some(1),
        "three periods without a probe"
    );
    assert_eq!(table.preferred(&[0], 1, 0, 300_001, always, &mut env), None);
    table.heard(&[0, 1], 1, 1, 25, 310_000);
    assert_eq!(table.difference_ns(1), Some(0), "one path left");
}

#[test]
fn paths_within_the_tie_take_turns() {
    let mut table = delays(Algorithm::Table);
    let mut env = Environment { now_ns: 0, queues: [0; 4], random: 5, dead: None };
    for (path, delay) in [(0, 11_200), (1, 10_000), (2, 11_300), (3, 10_500)] {
        table.heard(&[0, 1, 2, 3], 1, path, delay, 0);
    }
    let mut counts = [0u32; 4];
    for _ in 0..3000 {
        counts[usize::from(table.preferred(&[0, 1, 2, 3], 1, 1200, 0, always, &mut env).unwrap())] += 1;
    }
    assert_eq!(counts[2], 0);
    assert!([0, 1, 3].iter().all(|&path: &usize| counts[path] > 850), "{counts:?}");
}

#[test]
fn flows_in_the_queue_are_recorded_and_others_are_not() {
    let mut separator = separator();
    for (at, flow) in [10, 11, 12, 10, 13].into_iter().enumerate() {
        separator.depart(2, flow, 1500, at as u64);
    }
    separator.depart(1, 99, 1500, 5);
    // 4000 bytes of backlog: the last three packets, the first of them in service.
    separator.detect(2, 4_000, Record::Queue, 1000, 10);
    let congesting = |s: &Separator<Heap>, flow| s.is_congesting(2, flow);
    assert!([10, 12, 13].iter().all(|&flow| congesting(&separator, flow)));
    assert!([11, 99].iter().all(|&flow| !congesting(&separator, flow)));
    assert!(!separator.is_congesting(1, 10), "another port");
    separator.depart(2, 11, 1500, 11);
    separator.detect(2, 5_000, Record::Queue, 1000, 12);
    assert!(congesting(&separator, 11), "it came into the queue meanwhile");
    separator.relieve(2, 3_001, 3_000, false, 13);
    assert!(congesting(&separator, 10));
    separator.relieve(2, 3_000, 3_000, false, 14);
    assert!([10, 11, 12, 13].iter().all(|&flow| !congesting(&separator, flow)), "cleared at once");
    separator.depart(2, 14, 1500, 15);
    separator.detect(2, 1_500, Record::Queue, 1000, 16);
    assert!(congesting(&separator, 14) && !congesting(&separator, 13), "what was cleared does not come back");
}

#[test]
fn congestion_that_is_not_found_again_passes() {
    let mut separator = separator();
    separator.depart(0, 5, 1500, 0);
    separator.detect(0, 9_000, Record::Queue, 1000, 0);
    separator.relieve(0, 9_000, 100, false, 1000);
    assert!(separator.is_congesting(0, 5));
    separator.relieve(0, 9_000, 100, true, 1001);
    assert!(separator.is_congesting(0, 5), "the letter of Algorithm 1 never clears");
    separator.relieve(0, 9_000, 100, false, 1001);
    assert!(!separator.is_congesting(0, 5));
}

#[test]
fn the_window_records_those_that_left_the_queue_as_well() {
    let mut separator = separator();
    for (at, flow) in [(0, 1), (500, 2), (900, 3)] {
        separator.depart(0, flow, 1500, at);
    }
    separator.detect(0, 100, Record::Window(500), 1000, 1000);
    assert!(separator.is_congesting(0, 3) && separator.is_congesting(0, 2));
    assert!(!separator.is_congesting(0, 1));
}

/// Switch whose uplink 0 is filled by flows 1 to 4 and shared by flow 5.
fn congested(parameters: Parameters) -> (Switch, [u64; 5]) {
    let mut switch = Switch::new(parameters);
    for (path, us) in [(0, 40), (1, 45), (2, 41), (3, 60)] {
        switch.delay(path, us);
    }
    // Path 0 is the fastest when they begin.
    let flows = [1, 2, 3, 4, 5].map(|number| switch.flow_on(0, number));
    switch.send(flows[4]);
    switch.env.now_ns = 50_000;
    for _ in 0..5 {
        assert!(flows[..4].iter().all(|&flow| switch.send(flow).0 == 0));
    }
    switch.env.queues[0] = 20 * 1500;
    switch.delay(0, 90);
    switch.env.now_ns = 101_000;
    (switch, flows)
}

#[test]
fn innocent_flowlets_leave_a_congested_path_and_culprits_stay() {
    let (mut switch, flows) = congested(Parameters::default());
    for &flow in &flows[..4] {
        assert_eq!(switch.send(flow), (0, tag::CONGESTING), "in the queue: stays, pause or not");
    }
    assert_eq!(switch.send(flows[4]), (2, 0), "it paused for 101 us, more than 90 - 41: fastest path");
    assert_eq!(switch.state.counts, Counts { to_blame: 4, within_flowlet: 0, rerouted: 1 });
    switch.env.queues[0] = 7_500;
    switch.env.now_ns += 1_000_000;
    assert_eq!(switch.send(flows[0]), (0, 0), "relieved: nobody is to blame, nobody leaves");
}

#[test]
fn a_flowlet_under_way_stays_together() {
    let (mut switch, flows) = congested(Parameters::default());
    switch.env.now_ns = 49_000;
    assert_eq!(switch.send(flows[4]), (0, 0), "49 us are the timeout, not beyond it");
    assert_eq!(switch.state.counts, Counts { within_flowlet: 1, ..Counts::default() });
    let (mut switch, flows) = congested(Parameters::default());
    switch.env.now_ns = 49_001;
    assert_eq!(switch.send(flows[4]), (2, 0));
}

#[test]
fn nothing_is_recorded_while_the_path_is_as_fast_as_ever() {
    let (mut switch, flows) = congested(Parameters::default());
    switch.delay(0, 40);
    for &flow in &flows[..4] {
        assert_eq!(switch.send(flow).1, 0);
    }
    assert_eq!(switch.state.separator.detections(), 0);
    let (mut switch, flows) = congested(Parameters { delay_factor_milli: 2250, ..Parameters::default() });
    switch.send(flows[0]);
    assert_eq!(switch.state.separator.detections(), 0, "90 us are 2.25 times 40, not more");
    let (mut switch, flows) = congested(Parameters { delay_factor_milli: 2249, ..Parameters::default() });
    switch.send(flows[0]);
    assert_eq!(switch.state.separator.detections(), 1);
}

#[test]
fn new_flows_follow_their_hash_unless_that_path_is_congested() {
    let (mut switch, _) = congested(Parameters { initial: Initial::Ecmp, ..Parameters::default() });
    assert_eq!(switch.send(switch.flow_on(0, 21)).0, 2);
    assert_eq!(switch.send(switch.flow_on(1, 22)).0, 1);
}

#[test]
fn new_flows_take_the_fastest_path_that_is_not_congested() {
    let (mut switch, _) = congested(Parameters::default());
    assert_eq!(switch.send(switch.flow_on(1, 23)).0, 2);
    // Uplink 2 fills up; its probe, which is slower than its first of 41 us, is still faster than all others.
    switch.env.queues[2] = 20 * 1500;
    switch.delay(2, 42);
    assert_eq!(switch.send(switch.flow_on(1, 24)).0, 1);
    switch.env.queues = [20 * 1500; 4];
    for (path, us) in [(1, 46), (3, 61)] {
        switch.delay(path, us);
    }
    assert_eq!(switch.send(switch.flow_on(1, 25)).0, 2, "all are congested: the fastest of all");
    let (mut switch, _) = congested(Parameters { detect: Detect::Nowhere, ..Parameters::default() });
    switch.env.queues[2] = 20 * 1500;
    switch.delay(2, 42);
    assert_eq!(switch.send(switch.flow_on(1, 26)).0, 2, "nothing is looked for");
}

#[test]
fn what_the_last_hop_reports_stays_and_the_others_on_that_uplink_leave() {
    let (mut switch, flows) = congested(Parameters { detect: Detect::LastHop, ..Parameters::default() });
    assert_eq!(switch.send(flows[0]), (0, 0), "uplinks are not tested");
    let report = |switch: &mut Switch| {
        for &flow in &flows[..4] {
            switch.learn(Feedback::Congesting { destination: 1, flow });
        }
    };
    report(&mut switch);
    assert_eq!(switch.send(flows[4]), (0, 0), "perhaps its report is still on the way");
    switch.env.now_ns += 180_000;
    report(&mut switch);
    for &flow in &flows[..4] {
        assert_eq!(switch.send(flow), (0, tag::CONGESTING));
    }
    assert_eq!(switch.send(flows[4]), (2, 0), "a round trip of twice 90 us has passed");
    switch.env.now_ns += 181_000;
    assert_eq!(switch.send(flows[0]), (0, 0), "and one without another report");
}

#[test]
fn a_dead_path_is_left_at_once() {
    let (mut switch, flows) = congested(Parameters::default());
    switch.env.dead = Some(0);
    switch.plan.paths.0.remove(0);
    for flow in flows {
        assert_ne!(switch.send(flow).0, 0);
    }
}

#[test]
fn a_probe_of_three_tiers_fits_the_smallest_frame() {
    assert_eq!((probe_bits(2), probe_bits(4)), (80, 128), "the paper prints 108 for the second");
    assert_eq!((probe_frame_bytes(2), probe_frame_bytes(4)), (64, 64));
    assert_eq!(probe_frame_bytes(8), 66);
}
