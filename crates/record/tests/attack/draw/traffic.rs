//! Traffic of every kind that needs no capture.

use super::fabric::{LEAST_BPS, MOST_BPS};
use super::{Framing, Pace, model, transport, work};
use crate::dice::{Dice, quoted, rate, size, time};
use crate::draft::{Draft, Table};
use anabranch_fabric::Fabric;

/// Flows of this repository's tests, for two hosts or more; pinned to the first path or to none.
const FLOW_LIST: &str = "crates/record/tests/attack/pinned.csv";
/// Transports whose applications cannot have a rate.
const KINDS_WITHOUT_RATE: [&str; 2] = ["\"udp\"", "\"mptcp\""];
/// Tells the stream of workload graphs from others.
const GRAPHS: u64 = 1 << 63;
const MODELS: u64 = 1 << 62;
const SIZES: &str = "{ file = \"crates/scenario/tests/sizes.csv\" }";

pub(super) fn draw(
    dice: &mut Dice,
    pace: Pace,
    framing: Framing,
    fabric: &Fabric,
    calm: bool,
    draft: &mut Draft,
) {
    let entries = dice.magnitude(1, 3);
    for entry in 0..entries {
        // A stream of its own: what applications do shifts nothing else that is drawn.
        let mut of_its_own = Dice::new(pace.traffic_ps ^ pace.packets << 40, entry as u32);
        let mut table = Table::new("[[traffic]]");
        let payload = Payload { bytes: (pace.packets / entries).max(1) * framing.payload_bytes };
        match dice.below(16) {
            0..5 => poisson(dice, pace, payload, fabric, &mut table),
            5..8 if calm => outcast(dice, payload, fabric, &mut table),
            5..8 => once(dice, payload, fabric, &mut table),
            8..11 => incast(dice, pace, payload, fabric, &mut table),
            11..15 => training(dice, pace, payload, fabric, &mut table),
            _ => {
                table.set("kind", quoted("flow-list"));
                table.set("file", quoted(FLOW_LIST));
            }
        }
        if dice.chance(0.2) {
            table.set("start", time(pace.moment(dice)));
        }
        if dice.chance(0.2) {
            let mut own = Table::new("");
            transport::keys(dice, pace, framing, calm, &mut own);
            let keys: Vec<String> = own.keys.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            table.set("transport", format!("{{ {} }}", keys.join(", ")));
            let one_connection = |(_, kind): &(String, String)| !KINDS_WITHOUT_RATE.contains(&kind.as_str());
            application(&mut of_its_own, pace, framing, own.keys.iter().all(one_connection), &mut table);
        }
        // So do graphs.
        let mut of_graphs = Dice::new(pace.traffic_ps ^ pace.packets << 40 ^ GRAPHS, entry as u32);
        if of_graphs.chance(if calm { 0.5 } else { 0.15 }) {
            let transport = table.get("transport").map(str::to_owned);
            table = Table::new("[[traffic]]");
            work::draw(&mut of_graphs, pace, payload, fabric, calm, &mut table);
            if let Some(transport) = transport {
                table.set("transport", transport);
            }
        }
        // And what trains or serves a model.
        let mut of_models = Dice::new(pace.traffic_ps ^ pace.packets << 40 ^ MODELS, entry as u32);
        if of_models.chance(0.1) {
            let transport = table.get("transport").map(str::to_owned);
            table = Table::new("[[traffic]]");
            model::draw(&mut of_models, pace, payload, fabric, &mut table);
            if let Some(transport) = transport {
                table.set("transport", transport);
            }
        }
        draft.tables.push(table);
    }
}

/// Segments of a size of their own, and a rate of the application, from one at which it sends little to one that binds
/// nothing.
fn application(dice: &mut Dice, pace: Pace, framing: Framing, may_pace: bool, table: &mut Table) {
    if dice.chance(0.5) {
        table.set("mss", size(dice.between(framing.payload_bytes.div_ceil(8), framing.payload_bytes)));
    }
    if !may_pace || dice.chance(0.3) {
        return;
    }
    let bits = u128::from(8 * pace.packets * framing.payload_bytes);
    let whole_bps = (bits * 1_000_000_000_000 / u128::from(pace.traffic_ps)) as u64;
    let bps = dice.magnitude(whole_bps / 10, whole_bps.saturating_mul(50)).clamp(LEAST_BPS, MOST_BPS);
    table.set("rate", rate(bps));
    if dice.chance(0.5) {
        table.set("burst", size(dice.magnitude(1, 200_000)));
    }
}

/// Amount that an entry may send in all.
#[derive(Clone, Copy)]
pub(super) struct Payload {
    bytes: u64,
}

impl Payload {
    /// Draws the size of one of `flows` flows.
    pub(super) fn size(self, dice: &mut Dice, flows: u64) -> u64 {
        let each = (self.bytes / flows.max(1)).max(1);
        let around = [each, each + 1, each.saturating_sub(1), dice.between(1, each)];
        dice.pick(&around).max(1)
    }

    fn sizes(self, dice: &mut Dice, flows: u64) -> String {
        let one = self.size(dice, flows);
        match dice.below(10) {
            0..6 => size(one),
            6..9 => format!("{{ least = {}, most = {} }}", size(dice.between(1, one)), size(one)),
            _ => SIZES.to_owned(),
        }
    }
}

/// Draws a pattern; returns it with the number of flows it has if every sender sends one.
fn pattern(dice: &mut Dice, fabric: &Fabric) -> (String, u64) {
    let hosts = u64::from(fabric.hosts());
    let leaves: std::collections::BTreeSet<u32> =
        (0..fabric.hosts()).map(|host| fabric.leaf_of(host)).collect();
    let pods = fabric.nodes().iter().filter_map(|node| node.pod).max().map_or(0, |pod| u64::from(pod) + 1);
    let everywhere = ["random-pairs", "permutation", "all-to-all"];
    match dice.below(9) {
        0 if leaves.len() > 1 => (quoted("inter-rack"), hosts),
        1 if leaves.len() > 1 => (quoted("left-to-right"), hosts),
        2 if pods > 1 => (quoted("inter-pod"), hosts),
        3 if pods > 1 => (format!("{{ into_pod = {} }}", dice.below(pods)), hosts),
        4 => (format!("{{ stride = {} }}", dice.between(1, hosts - 1)), hosts),
        5..7 => {
            let pairs: Vec<String> = (0..dice.between(1, 6))
                .map(|_| {
                    let src = dice.below(hosts);
                    format!("[{src}, {}]", (src + dice.between(1, hosts - 1)) % hosts)
                })
                .collect();
            (format!("{{ pairs = [{}] }}", pairs.join(", ")), pairs.len() as u64)
        }
        _ => {
            let word = dice.pick(&everywhere);
            (quoted(word), if word == "all-to-all" { hosts * (hosts - 1) } else { hosts })
        }
    }
}

fn poisson(dice: &mut Dice, pace: Pace, payload: Payload, fabric: &Fabric, table: &mut Table) {
    let flows = dice.magnitude(1, 40);
    table.set("pattern", pattern(dice, fabric).0);
    table.set("sizes", payload.sizes(dice, flows));
    let per_second = flows as f64 * 1e12 / pace.traffic_ps as f64;
    if dice.chance(0.3) {
        table.set("load", format!("{:.3}", dice.magnitude(10, 3000) as f64 / 1000.0));
        table.set("reference", quoted(dice.pick(&["host", "host", "uplink", "bisection"])));
    } else {
        table.set("flows_per_s", format!("{:e}", (per_second * (0.1 + 3.0 * dice.unit())).clamp(1e-9, 1e12)));
    }
    table.set("flows", flows.to_string());
}

fn once(dice: &mut Dice, payload: Payload, fabric: &Fabric, table: &mut Table) {
    let (pattern, flows) = pattern(dice, fabric);
    table.set("kind", quoted("once"));
    table.set("pattern", pattern);
    table.set("sizes", payload.sizes(dice, flows));
}

/// One host that sends to many at once, so much that it fills ports' usual room several times.
fn outcast(dice: &mut Dice, payload: Payload, fabric: &Fabric, table: &mut Table) {
    let hosts = u64::from(fabric.hosts());
    let (src, flows) = (dice.below(hosts), dice.between(1, hosts - 1));
    let pairs: Vec<String> = (1..=flows).map(|far| format!("[{src}, {}]", (src + far) % hosts)).collect();
    table.set("kind", quoted("once"));
    table.set("pattern", format!("{{ pairs = [{}] }}", pairs.join(", ")));
    let payload = Payload { bytes: 4 * payload.bytes };
    table.set("sizes", size(payload.size(dice, flows)));
}

fn incast(dice: &mut Dice, pace: Pace, payload: Payload, fabric: &Fabric, table: &mut Table) {
    let hosts = u64::from(fabric.hosts());
    let (servers, jobs) = (dice.between(1, hosts - 1), dice.magnitude(1, 6));
    table.set("kind", quoted("incast"));
    table.set("servers", servers.to_string());
    table.set("response", size(payload.size(dice, servers * jobs)));
    table.set("jobs_per_s", format!("{:e}", (jobs as f64 * 1e12 / pace.traffic_ps as f64).clamp(1e-9, 1e12)));
    if dice.chance(0.5) {
        table.set("clients", format!("[{}]", dice.below(hosts)));
    }
    table.set("jobs", jobs.to_string());
}

fn training(dice: &mut Dice, pace: Pace, payload: Payload, fabric: &Fabric, table: &mut Table) {
    let hosts = u64::from(fabric.hosts());
    let mut order: Vec<u64> = (0..hosts).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, dice.below(last as u64 + 1) as usize);
    }
    let workers = dice.between(2, hosts.min(6)) as usize;
    let list = |hosts: &[u64]| format!("{hosts:?}");
    let iterations = dice.magnitude(1, 20);
    let chunks = if dice.chance(0.7) {
        table.set("kind", quoted("ring-all-reduce"));
        table.set("workers", list(&order[..workers]));
        2 * (workers as u64 - 1)
    } else {
        let servers = dice.between(1, workers as u64 - 1) as usize;
        table.set("kind", quoted("parameter-server"));
        table.set("servers", list(&order[..servers]));
        table.set("workers", list(&order[servers..workers]));
        2 * (workers - servers) as u64
    };
    table.set("size", size(payload.size(dice, iterations * chunks)));
    table.set("iterations", iterations.to_string());
    if dice.chance(0.5) {
        table.set("compute", time(pace.moment(dice) / 4));
    }
}
