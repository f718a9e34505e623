//! ConWeave: rounds of a flow at its source leaf, order restored at its destination.

use super::congestion_environment::Environment;
use anabranch_balancers::conweave::header::{Control, Flag, Header};
use anabranch_balancers::conweave::pick::{Arrived, ConWeave, Parameters, Plan, Round, State};
use anabranch_balancers::conweave::reorder::{Reordering, Verdict};
use anabranch_split::picks::FlowTable;
use anabranch_split::{Packet, Pick, pick};

type Source = ConWeave<Vec<u64>, FlowTable<Round>>;

const US: u64 = 1000;
const PATHS: u16 = 4;
const PLAN: Plan = Plan {
    parameters: Parameters {
        extra_reply_ns: 4 * US,
        pause_ns: 16 * US,
        extra_hold_ns: 16 * US,
        default_hold_ns: 200 * US,
        expiry_ns: 300 * US,
        age_ns: 2000 * US,
        control_bytes: 64,
    },
    paths: PATHS,
    round_trip_ns: 10 * US,
};

struct Run {
    state: State<Vec<u64>, FlowTable<Round>>,
    env: Environment,
}

impl Run {
    fn new() -> Self {
        let state = State { paused_ns: vec![0; PATHS.into()], flows: FlowTable::default() };
        Self { state, env: Environment::new() }
    }

    fn send_at(&mut self, us: u64) -> Header {
        self.env.now_ns = us * US;
        let mut packet = Packet { flow: 5, bytes: 1000, ..Packet::default() };
        let path = pick::<Source, _>(&PLAN, &mut self.state, &mut packet, &mut self.env);
        let header = Header::unpack(packet.tag).unwrap();
        assert_eq!(header.path, path);
        header
    }

    fn hear_at(&mut self, us: u64, control: Control) {
        self.env.now_ns = us * US;
        Source::learn(&PLAN, &mut self.state, &Arrived { flow: 5, control }, &mut self.env);
    }
}

#[test]
fn the_defaults_are_those_of_the_authors() {
    assert_eq!(Parameters::default(), PLAN.parameters);
}

#[test]
fn replies_in_time_keep_a_flow_where_it_is() {
    let mut run = Run::new();
    let mut first = run.send_at(100);
    assert_eq!((first.flag, first.rerouted), (Flag::Init, false));
    for round in 1..50 {
        let start = 100 + 20 * round;
        assert_eq!(run.send_at(start - 12).flag, Flag::Plain, "not asked twice");
        run.hear_at(start - 7, Control::Reply(first.epoch));
        let next = run.send_at(start);
        assert_eq!((next.flag, next.path, next.rerouted), (Flag::Init, first.path, false));
        assert_eq!(next.epoch, first.epoch.next());
        first = next;
    }
}

#[test]
fn a_late_reply_ends_in_a_tail_and_another_path_until_it_is_clear() {
    let mut run = Run::new();
    // Only two paths live, and one is paused: it is clear which the flow takes.
    run.env.dead = vec![2, 3];
    run.hear_at(99, Control::Notify(1));
    let init = run.send_at(100);
    assert_eq!(init.path, 0);
    assert_eq!(run.send_at(114).flag, Flag::Plain, "a reply may take the round trip and the margin");
    run.hear_at(115, Control::Reply(init.epoch));
    // The draws of two may both be of path 0, and then the flow stays: until it moves, rounds end in tails.
    run.hear_at(115, Control::Notify(0));
    let tail = run.send_at(116);
    assert_eq!((tail.flag, tail.path, tail.rerouted, tail.epoch), (Flag::Tail, 0, false, init.epoch));
    let after = run.send_at(120);
    assert_eq!((after.flag, after.path, after.rerouted), (Flag::Plain, 1, true));
    assert_eq!(after.sent, tail.sent, "packets of the second phase say when the tail was sent");
    run.hear_at(121, Control::Reply(init.epoch));
    run.hear_at(121, Control::Clear(init.epoch.next()));
    assert!(run.send_at(200).rerouted, "neither a late reply nor another epoch's clearance settles");
    run.hear_at(210, Control::Clear(init.epoch));
    let next = run.send_at(211);
    assert_eq!((next.flag, next.path, next.rerouted, next.epoch), (Flag::Init, 1, false, init.epoch.next()));
}

#[test]
fn paused_paths_are_not_taken_if_one_of_two_draws_is_free() {
    let mut run = Run::new();
    run.hear_at(999, Control::Notify(2));
    let mut taken = [0u32; 4];
    for flow in 0..8000 {
        let mut packet = Packet { flow, ..Packet::default() };
        taken[usize::from(pick::<Source, _>(&PLAN, &mut run.state, &mut packet, &mut run.env))] += 1;
    }
    // Path 2 only if drawn twice: 1/16 of 8000, standard deviation 22.
    assert!(taken[2].abs_diff(500) < 110, "{taken:?}");
    assert!([0, 1, 3].iter().all(|&path| taken[path].abs_diff(2500) < 210), "{taken:?}");
    run.env.now_ns += 16 * US;
    let free = (8000..16_000u64)
        .filter(|&flow| {
            let mut packet = Packet { flow, ..Packet::default() };
            pick::<Source, _>(&PLAN, &mut run.state, &mut packet, &mut run.env) == 2
        })
        .count();
    assert!(free.abs_diff(2000) < 195, "{free}");
}

#[test]
fn a_pause_or_a_dead_path_begins_a_round_on_any_path() {
    let mut run = Run::new();
    let mut paths = [false; 4];
    for round in 0..40 {
        let header = run.send_at(1000 + round * 301);
        assert_eq!(header.flag, Flag::Init);
        paths[usize::from(header.path)] = true;
    }
    assert_eq!(paths, [true; 4]);
    let before = run.send_at(1000 + 39 * 301 + 1);
    run.env.dead = vec![before.path];
    let after = run.send_at(1000 + 39 * 301 + 2);
    assert_eq!((after.flag, after.epoch), (Flag::Init, before.epoch.next()));
    assert_ne!(after.path, before.path);
}

/// Makes a header of epoch `epoch`.
fn header(epoch: u32, rerouted: bool, flag: Flag, sent_us: u64) -> Header {
    let start = Header::default().epoch;
    let epoch = (0..epoch).fold(start, |epoch, _| epoch.next());
    let sent = anabranch_balancers::conweave::header::Stamp::of(sent_us * US);
    Header { epoch, rerouted, flag, path: 0, sent }
}

struct Destination(Reordering);

impl Destination {
    fn arrive_at(&mut self, us: u64, header: Header) -> Verdict {
        self.0.arrive(&PLAN.parameters, &header, us * US)
    }

    /// Deadline in microseconds, rounded to the step of stamps, 64 ns.
    fn deadline_us(&self) -> Option<u64> {
        self.0.deadline_ns().map(|ns| (ns + 32) / US)
    }
}

#[test]
fn what_overtakes_waits_for_the_tail() {
    let mut at = Destination(Reordering::default());
    let init = header(1, false, Flag::Init, 100);
    let got = at.arrive_at(110, init);
    assert_eq!(got, Verdict { answer: Some(Control::Reply(init.epoch)), ..Verdict::default() });
    assert_eq!(at.arrive_at(115, header(1, false, Flag::Plain, 105)), Verdict::default());
    // The tail is sent at 120; the first packet of the new path overtakes it.
    assert!(at.arrive_at(124, header(1, true, Flag::Plain, 120)).hold);
    assert_eq!(at.deadline_us(), Some(115 + (120 - 105) + 16));
    assert!(at.arrive_at(125, header(1, true, Flag::Plain, 120)).hold);
    // The old path turns out slower than thought: what comes by it moves the deadline.
    assert_eq!(at.arrive_at(140, header(1, false, Flag::Plain, 110)), Verdict::default());
    assert_eq!(at.deadline_us(), Some(140 + (120 - 110) + 16));
    assert!(!at.0.expire(165 * US));
    let tail = at.arrive_at(150, header(1, false, Flag::Tail, 120));
    assert_eq!(
        tail,
        Verdict { release_after: true, answer: Some(Control::Clear(init.epoch)), ..Verdict::default() }
    );
    assert_eq!(at.deadline_us(), None);
    assert_eq!(at.arrive_at(151, header(1, true, Flag::Plain, 120)), Verdict::default(), "in order again");
}

#[test]
fn a_lost_tail_is_waited_for_no_longer_than_predicted() {
    let mut at = Destination(Reordering::default());
    at.arrive_at(110, header(1, false, Flag::Init, 100));
    assert!(at.arrive_at(113, header(1, true, Flag::Plain, 102)).hold);
    assert_eq!(at.deadline_us(), Some(110 + 2 + 16));
    assert!(!at.0.expire(128 * US - 100) && at.0.expire(128 * US));
    assert!(!at.arrive_at(130, header(1, true, Flag::Plain, 102)).hold, "it is taken for lost");
    // Nothing came by the old path: the default.
    let mut at = Destination(Reordering::default());
    assert!(at.arrive_at(110, header(3, true, Flag::Plain, 102)).hold);
    assert_eq!(at.deadline_us(), Some(110 + 200 + 16));
}

#[test]
fn rounds_before_pass_and_a_new_one_lets_go() {
    let mut at = Destination(Reordering::default());
    at.arrive_at(110, header(4, false, Flag::Init, 100));
    assert!(at.arrive_at(111, header(4, true, Flag::Plain, 102)).hold);
    let late = at.arrive_at(112, header(3, true, Flag::Plain, 90));
    assert_eq!(late, Verdict::default());
    let next = at.arrive_at(113, header(5, false, Flag::Init, 105));
    assert!(next.release_before && !next.hold);
    assert_eq!(at.deadline_us(), None);
    // After a long pause the source may count from the start again.
    let got = at.arrive_at(113 + 1001, header(1, false, Flag::Init, 0));
    assert_eq!(got.answer, Some(Control::Reply(header(1, false, Flag::Init, 0).epoch)));
}
