//! HULA: the best hop, and when it changes.

use super::congestion_environment::Environment;
use anabranch_balancers::hula::pick::{Best, Hula, Parameters, Plan, Probe, hear};
use anabranch_split::picks::{FlowTable, Flowlet, units};
use anabranch_split::{Packet, Pick, pick};

type Switch = Hula<Vec<Best>, FlowTable<u64>>;

const US: u64 = 1000;
const KEEP_NS: u64 = 600 * US;

struct Run {
    state: units::State<FlowTable<u64>, Vec<Best>>,
    env: Environment,
}

impl Run {
    fn new() -> Self {
        let state = units::State { flows: FlowTable::default(), picker: vec![Best::default(); 3] };
        Self { state, env: Environment::new() }
    }

    fn plan() -> units::Plan<Flowlet, Plan> {
        let Parameters { gap_ns, keep_ns, .. } = Parameters::default();
        units::Plan { boundary: Flowlet { gap_ns }, picker: Plan { members: 4, keep_ns } }
    }

    fn hear(&mut self, leaf: u32, member: u16, utilisation: u16) -> bool {
        hear(&mut self.state.picker, &Probe { leaf, member, utilisation }, KEEP_NS, self.env.now_ns)
    }

    fn send(&mut self, flow: u64, destination: u32) -> u16 {
        let mut packet = Packet { flow, destination, bytes: 1500, ..Packet::default() };
        pick::<Switch, _>(&Self::plan(), &mut self.state, &mut packet, &mut self.env)
    }
}

#[test]
fn probes_cost_what_the_formula_says() {
    let parameters = Parameters { probe_bytes: 38, period_ns: 40_000, ..Parameters::default() };
    assert!((parameters.overhead(100, 10_000_000_000) - 0.076).abs() < 1e-12);
}

#[test]
fn the_best_hop_gives_way_to_a_better_and_to_its_own_decline() {
    let mut run = Run::new();
    assert!(run.hear(1, 2, 900), "the first news are passed on");
    assert!(!run.hear(1, 0, 901), "worse news of another hop are not");
    assert!(!run.hear(1, 0, 900), "nor as good ones");
    assert_eq!(run.send(1, 1), 2);
    assert!(run.hear(1, 0, 899));
    assert_eq!(run.send(2, 1), 0);
    assert_eq!(run.send(1, 1), 2, "a flowlet stays");
    assert!(run.hear(1, 0, 5000), "worse news of the best hop are");
    assert!(run.hear(1, 3, 4000));
    assert_eq!(run.send(3, 1), 3);
    run.env.now_ns += 100 * US + 1;
    assert_eq!(run.send(1, 1), 3, "a new flowlet takes the hop of the day");
    assert!(!run.hear(7, 0, 0), "no such leaf");
}

#[test]
fn silence_makes_any_hop_the_best() {
    let mut run = Run::new();
    run.hear(1, 2, 100);
    run.env.now_ns += KEEP_NS;
    assert!(!run.hear(1, 1, 8000));
    assert_eq!(run.send(1, 1), 2);
    run.env.now_ns += 1;
    let mut counts = [0u32; 4];
    (10..4010).for_each(|flow| counts[usize::from(run.send(flow, 1))] += 1);
    // Nobody knows: evenly. Standard deviation sqrt(4000 * 1/4 * 3/4) = 27; five of them.
    assert!(counts.iter().all(|count| count.abs_diff(1000) < 137), "{counts:?}");
    assert!(run.hear(1, 1, 8000));
    assert_eq!(run.send(5000, 1), 1);
}

#[test]
fn a_dead_hop_is_left_at_once() {
    let mut run = Run::new();
    run.hear(1, 2, 100);
    assert_eq!(run.send(1, 1), 2);
    run.env.dead = vec![2, 3];
    Switch::port_changed(&Run::plan(), &mut run.state, 2, false, &mut run.env);
    let hops: Vec<u16> = (1..100).map(|flow| run.send(flow, 1)).collect();
    assert!(hops.contains(&0) && hops.contains(&1) && hops.iter().all(|&hop| hop < 2), "{hops:?}");
    assert!(run.hear(1, 0, 60_000), "what was known of the dead hop is forgotten");
}
