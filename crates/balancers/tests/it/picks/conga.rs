//! CONGA: the uplinks that flowlets take, and the news that leaves send each other.

use super::congestion_environment::Environment;
use anabranch_balancers::conga::pick::{Arrived, Conga, Metric, Parameters, Plan, State};
use anabranch_balancers::conga::tag::{Item, Tag};
use anabranch_split::picks::FlowTable;
use anabranch_split::picks::dre::Register;
use anabranch_split::{Packet, Pick, pick};

type Leaf = Conga<Vec<u64>, Vec<Register>, Vec<Metric>, Vec<u8>, FlowTable<u64>>;
type LeafState = State<Vec<Register>, Vec<Metric>, Vec<u8>, FlowTable<u64>>;

const LEAVES: usize = 3;
const UPLINKS: usize = 4;
const US: u64 = 1000;

fn leaf(parameters: Parameters) -> (Plan<Vec<u64>>, LeafState) {
    let Parameters { gap_ns, age_ns, candidates, wrap, .. } = parameters;
    let estimator = parameters.estimator();
    let full_bytes = vec![estimator.full_bytes(10_000_000_000); UPLINKS];
    let state = State {
        registers: vec![Register::default(); UPLINKS],
        to_leaf: vec![Metric::default(); LEAVES * UPLINKS],
        from_leaf: vec![Metric::default(); LEAVES * UPLINKS],
        turns: vec![0; LEAVES],
        flowlets: FlowTable::default(),
    };
    (Plan { estimator, full_bytes, row: UPLINKS as u16, gap_ns, age_ns, candidates, wrap }, state)
}

struct Run {
    plan: Plan<Vec<u64>>,
    state: LeafState,
    env: Environment,
}

impl Run {
    fn new(parameters: Parameters) -> Self {
        let (plan, state) = leaf(parameters);
        Self { plan, state, env: Environment::new() }
    }

    fn send(&mut self, flow: u64, destination: u32) -> (u16, Tag) {
        let mut packet = Packet { flow, bytes: 1500, destination, ..Packet::default() };
        let uplink = pick::<Leaf, _>(&self.plan, &mut self.state, &mut packet, &mut self.env);
        (uplink, Tag::unpack(packet.tag).unwrap())
    }

    fn depart(&mut self, uplink: u16, bytes: u32) {
        let mut packet = Packet { bytes, ..Packet::default() };
        Leaf::depart(&self.plan, &mut self.state, uplink, &mut packet, &mut self.env);
    }

    fn hear(&mut self, leaf: u32, tag: Tag) {
        let arrived = Arrived { leaf, tag: tag.pack() };
        Leaf::learn(&self.plan, &mut self.state, &arrived, &mut self.env);
    }

    /// Reports, from the other leaf, how congested the path by an uplink is.
    fn told(&mut self, leaf: u32, uplink: u8, level: u8) {
        self.hear(leaf, Tag { uplink: 0, level: 0, feedback: Some(Item { uplink, level }) });
    }

    /// Number of new flows to a leaf by uplink.
    fn spread(&mut self, destination: u32, flows: std::ops::Range<u64>) -> [u32; UPLINKS] {
        let mut counts = [0; UPLINKS];
        for flow in flows {
            counts[usize::from(self.send(flow, destination).0)] += 1;
        }
        counts
    }
}

#[test]
fn equal_ways_are_drawn_evenly() {
    let counts = Run::new(Parameters::default()).spread(1, 0..40_000);
    // Standard deviation sqrt(40000 * 1/4 * 3/4) = 87; five of them.
    assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 435), "{counts:?}");
}

#[test]
fn the_larger_of_near_and_far_decides() {
    let mut run = Run::new(Parameters::default());
    // Near levels: an eighth of 187500 bytes each; far levels as told. Maxima: 5, 3, 6, 4.
    for (uplink, near, far) in [(0u8, 5, 2), (1, 1, 3), (2, 6, 6), (3, 4, 0)] {
        run.depart(uplink.into(), near * 23_438);
        run.told(1, uplink, far);
    }
    assert_eq!(run.spread(1, 0..100), [0, 100, 0, 0]);
    // Another leaf's ways are its own: near levels alone are 5, 1, 6, 4.
    run.told(2, 1, 7);
    assert_eq!(run.spread(2, 100..200), [0, 0, 0, 100]);
    run.env.dead = vec![1];
    assert_eq!(run.spread(1, 200..300), [0, 0, 0, 100]);
}

#[test]
fn a_flowlet_stays_and_a_flow_stays_if_it_may() {
    let mut run = Run::new(Parameters::default());
    let (first, _) = run.send(7, 1);
    run.told(1, first as u8, 7);
    run.env.now_ns += 500 * US;
    assert_eq!(run.send(7, 1).0, first, "within the gap");
    run.env.now_ns += 500 * US + 1;
    let (second, _) = run.send(7, 1);
    assert_ne!(second, first, "after the gap the way is bad");
    for _ in 0..50 {
        run.env.now_ns += 600 * US;
        // What was said of the bad way must not age meanwhile.
        run.told(1, first as u8, 7);
        assert_eq!(run.send(7, 1).0, second, "as good as any, and its own");
    }
    run.env.dead = vec![second];
    let (third, _) = run.send(7, 1);
    assert!(third != second && third != first, "a dead uplink is left within the flowlet");
}

#[test]
fn what_is_old_counts_as_nothing() {
    let mut run = Run::new(Parameters::default());
    (0..3).for_each(|uplink| run.told(1, uplink, 3));
    assert_eq!(run.spread(1, 0..100), [0, 0, 0, 100]);
    run.told(1, 3, 7);
    run.env.now_ns += 10_000 * US;
    assert_eq!(run.spread(1, 100..200)[3], 0, "not yet old");
    run.env.now_ns += 1;
    let counts = run.spread(1, 200..1200);
    assert!(counts.iter().all(|&count| count > 180), "{counts:?}");
}

#[test]
fn feedback_takes_turns_and_news_go_first() {
    let mut run = Run::new(Parameters::default());
    assert_eq!(run.send(1, 2).1.feedback, None);
    for (uplink, level) in [(0, 1), (2, 5), (3, 2)] {
        run.hear(2, Tag { uplink, level, feedback: None });
    }
    let item = |uplink, level| Some(Item { uplink, level });
    let next = |run: &mut Run| run.send(1, 2).1.feedback;
    assert_eq!(run.send(1, 1).1.feedback, None, "nothing was heard from that leaf");
    assert_eq!([next(&mut run), next(&mut run), next(&mut run)], [item(0, 1), item(2, 5), item(3, 2)]);
    // All were sent: rotation, as nothing changes.
    run.hear(2, Tag { uplink: 2, level: 5, feedback: None });
    assert_eq!([next(&mut run), next(&mut run)], [item(0, 1), item(2, 5)]);
    // News of 0 overtake the turn of 3.
    run.hear(2, Tag { uplink: 0, level: 6, feedback: None });
    assert_eq!([next(&mut run), next(&mut run)], [item(0, 6), item(2, 5)]);
    run.env.now_ns += 10_001 * US;
    assert_eq!(next(&mut run), None, "nothing old is sent");
}

#[test]
fn a_sample_of_uplinks_in_a_row() {
    let mut run = Run::new(Parameters { candidates: 2, ..Parameters::default() });
    run.told(1, 0, 7);
    // Of the four rows of two, 0 is in {3, 0} and {0, 1} and loses in both.
    let counts = run.spread(1, 0..8000);
    assert_eq!(counts[0], 0);
    // {1, 2} gives each half, {2, 3} too, so 1 has a quarter and an eighth, 2 a quarter, 3 as 1.
    for (count, expected) in counts[1..].iter().zip([3000u32, 2000, 3000]) {
        assert!(count.abs_diff(expected) < 220, "{counts:?}");
    }
}

/// Rows that end at the last uplink: the outer uplinks stand in fewer, as in `conweave-ns3`.
#[test]
fn rows_that_do_not_wrap() {
    let mut run = Run::new(Parameters { candidates: 2, wrap: false, ..Parameters::default() });
    run.told(1, 0, 7);
    // {0, 1} gives 1 all, {1, 2} and {2, 3} give each half.
    let counts = run.spread(1, 0..9000);
    for (count, expected) in counts.iter().zip([0u32, 4500, 3000, 1500]) {
        assert!(count.abs_diff(expected) < 220, "{counts:?}");
    }
}

#[test]
fn flows_that_ended_are_forgotten() {
    let mut run = Run::new(Parameters::default());
    for flow in 0..200_000 {
        run.env.now_ns += 10 * US;
        run.send(flow, 1);
    }
    // A flow is remembered for 10 ms, in which 1000 begin, and for some time until the hand comes by.
    let remembered = anabranch_split::picks::Flows::len(&run.state.flowlets);
    assert!((1000..3000).contains(&remembered), "{remembered}");
}
