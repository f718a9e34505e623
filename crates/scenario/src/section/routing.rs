//! `[routing]`: how switches spread, and how fast they learn.

use super::scheme::{self, SCHEMES};
use crate::document::{Entry, Node, Value};
use crate::form::{Form, key as key_text};
use crate::unit::{Bytes, Choice, Count, Named, Nanoseconds, Refusal, Time, Unit, Whole, quoted};
use anabranch_plan::{Granularity, Scheme, Table};
use anabranch_split::scheme::{Flowcell, Flowlet};

/// How switches spread, and how fast they learn.
#[derive(Clone, Debug, PartialEq)]
pub struct Routing {
    /// What is kept together.
    pub granularity: Granularity,
    /// Where weights come from.
    pub weights: Weights,
    /// How weights become picks.
    pub table: Table,
    /// What decides beside, or instead of, the tables.
    pub scheme: Scheme,
    /// From a change to the other switches' knowing of it, in picoseconds.
    pub delay_ps: u64,
}

/// Where the weights of a group come from, with ports still by name.
#[derive(Clone, Debug, PartialEq)]
pub enum Weights {
    /// Every next hop alike.
    Equal,
    /// The capacity of the paths behind.
    Capacity,
    /// A weight per neighbour, by `leaf0>spine1`.
    Given(Vec<(Named, u64)>),
}

/// A name for three choices.
struct Preset {
    name: &'static str,
    granularity: Granularity,
    weights: Weights,
    table: Table,
}

/// Entries of a WCMP table where none are given: a group of sixteen members fits with room for weights.
pub(crate) const WCMP_ENTRIES: u32 = 64;
/// DRILL(2, 1), the setting that its authors recommend.
const DRILL: Table = Table::ShortestQueue { samples: 2, memory: 1 };
const EVERY_QUEUE: Table = Table::ShortestQueue { samples: u16::MAX, memory: 0 };
const FLOW: Granularity = Granularity::Flow;
const FLOWLET: Granularity = Granularity::Flowlet { gap_ns: Flowlet::GAP_NS };
const FLOWCELL: Granularity = Granularity::Flowcell { bytes: Flowcell::BYTES as u64 };
const PACKET: Granularity = Granularity::Packet;
const SMOOTH: Table = Table::Turns { block: false };

static PRESETS: [Preset; 16] = [
    preset("ecmp", FLOW, Weights::Equal, Table::Uniform),
    preset("random", FLOW, Weights::Equal, Table::Valo),
    preset("weighted", FLOW, Weights::Capacity, Table::MinMove),
    preset("weighted-random", FLOW, Weights::Capacity, Table::Intervals),
    preset("wrr", FLOW, Weights::Capacity, Table::Turns { block: true }),
    preset("wcmp", FLOW, Weights::Capacity, Table::Wcmp { entries: WCMP_ENTRIES }),
    preset("scoring", FLOW, Weights::Capacity, Table::Scoring),
    preset("valo", FLOW, Weights::Capacity, Table::Valo),
    preset("deficit", FLOW, Weights::Capacity, Table::Deficit),
    preset("letflow", FLOWLET, Weights::Equal, Table::Uniform),
    preset("flowcell", FLOWCELL, Weights::Equal, Table::Uniform),
    preset("local-sampling", FLOWCELL, Weights::Equal, EVERY_QUEUE),
    preset("spray", PACKET, Weights::Equal, Table::Uniform),
    preset("weighted-spray", PACKET, Weights::Capacity, SMOOTH),
    preset("drill", PACKET, Weights::Equal, DRILL),
    preset("weighted-drill", PACKET, Weights::Capacity, DRILL),
];

const fn preset(name: &'static str, granularity: Granularity, weights: Weights, table: Table) -> Preset {
    Preset { name, granularity, weights, table }
}

pub(crate) static NAMES: [&str; PRESETS.len() + SCHEMES.len()] = {
    let mut names = [""; PRESETS.len() + SCHEMES.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] =
            if index < PRESETS.len() { PRESETS[index].name } else { SCHEMES[index - PRESETS.len()].name };
        index += 1;
    }
    names
};
const GRANULARITIES: [&str; 4] = ["flow", "flowlet", "flowcell", "packet"];
const TABLES: [&str; 10] = [
    "uniform",
    "min-move",
    "wcmp",
    "wcmp-scoring",
    "intervals",
    "valo",
    "scoring",
    "turns",
    "deficit",
    "shortest-queue",
];
const ORDERS: [&str; 2] = ["smooth", "block"];

impl Default for Routing {
    fn default() -> Self {
        let ecmp = &PRESETS[0];
        Self {
            granularity: ecmp.granularity,
            weights: ecmp.weights.clone(),
            table: ecmp.table,
            scheme: Scheme::Table,
            delay_ps: 0,
        }
    }
}

impl Routing {
    /// The scheme or preset these choices are, if they are one.
    #[must_use]
    pub fn balance(&self) -> Option<&'static str> {
        let same = |preset: &&Preset| {
            granularity_name(preset.granularity) == granularity_name(self.granularity)
                && preset.weights == self.weights
                && table_name(preset.table) == table_name(self.table)
        };
        scheme::name(&self.scheme).or_else(|| PRESETS.iter().find(same).map(|preset| preset.name))
    }

    /// The load balancer of this name, with its defaults.
    #[must_use]
    pub fn of(balance: &str) -> Self {
        let mut routing = Self::default();
        routing.set(balance);
        routing
    }

    /// What the switches keep on one path, in a word.
    #[must_use]
    pub fn granularity_name(&self) -> &'static str {
        granularity_name(self.granularity)
    }

    fn set(&mut self, balance: &str) {
        self.scheme = Scheme::Table;
        if let Some(named) = scheme::of(balance) {
            self.scheme = (named.scheme)();
            self.weights.clone_from(&named.weights);
        }
        if let Some(preset) = PRESETS.iter().find(|preset| preset.name == balance) {
            self.granularity = preset.granularity;
            self.weights.clone_from(&preset.weights);
            self.table = preset.table;
        }
    }
}

fn granularity_name(granularity: Granularity) -> &'static str {
    match granularity {
        Granularity::Flow => GRANULARITIES[0],
        Granularity::Flowlet { .. } => GRANULARITIES[1],
        Granularity::Flowcell { .. } => GRANULARITIES[2],
        Granularity::Packet => GRANULARITIES[3],
    }
}

fn granularity_of(name: &str) -> Granularity {
    match name {
        "flow" => FLOW,
        "flowlet" => FLOWLET,
        "flowcell" => FLOWCELL,
        _ => PACKET,
    }
}

fn table_name(table: Table) -> &'static str {
    match table {
        Table::Uniform => TABLES[0],
        Table::MinMove => TABLES[1],
        Table::Wcmp { .. } => TABLES[2],
        Table::WcmpScoring { .. } => TABLES[3],
        Table::Intervals => TABLES[4],
        Table::Valo => TABLES[5],
        Table::Scoring => TABLES[6],
        Table::Turns { .. } => TABLES[7],
        Table::Deficit => TABLES[8],
        Table::ShortestQueue { .. } => TABLES[9],
    }
}

fn table_of(name: &str) -> Table {
    match name {
        "uniform" => Table::Uniform,
        "min-move" => Table::MinMove,
        "wcmp" => Table::Wcmp { entries: WCMP_ENTRIES },
        "wcmp-scoring" => Table::WcmpScoring { entries: WCMP_ENTRIES },
        "intervals" => Table::Intervals,
        "valo" => Table::Valo,
        "scoring" => Table::Scoring,
        "turns" => SMOOTH,
        "deficit" => Table::Deficit,
        _ => DRILL,
    }
}

/// The keys.
pub(crate) fn visit(form: &mut impl Form, routing: &mut Routing) {
    let mut balance = routing.balance();
    form.optional(
        "balance",
        Choice(&NAMES),
        &mut balance,
        "A load balancer by name, as `anabranch schemes` lists them: a name for granularity, weights and table together, \
         any of which given beside it replaces its part, or a scheme with parameters of its own.",
    );
    if let Some(name) = balance
        && routing.balance() != balance
    {
        routing.set(name);
    }
    let mut granularity = granularity_name(routing.granularity);
    form.key(
        "granularity",
        Choice(&GRANULARITIES),
        &mut granularity,
        "What is kept on one path by the switches: all packets of a flow; flowlets, which a pause of `gap` ends; flowcells \
         of `cell` bytes; or each packet by itself (spraying).",
    );
    if granularity != granularity_name(routing.granularity) {
        routing.granularity = granularity_of(granularity);
    }
    match &mut routing.granularity {
        Granularity::Flowlet { gap_ns } => {
            form.key("gap", Nanoseconds, gap_ns, "Longest pause within a flowlet.");
        }
        Granularity::Flowcell { bytes } => {
            form.key("cell", Bytes { least: 1, most: 1 << 30 }, bytes, "Payload of a flowcell.");
        }
        Granularity::Flow | Granularity::Packet => {}
    }
    form.key(
        "weights",
        WeightTable,
        &mut routing.weights,
        "Where the weights of next hops come from: all equal, the capacity of the paths behind each, or as written. \
         Ports that are not written weigh 1; parallel links share the weight of their neighbour.",
    );
    visit_table(form, &mut routing.table);
    form.table("scheme", "Parameters of the scheme that `balance` names.", |form| {
        scheme::visit(form, &mut routing.scheme);
    });
    form.key(
        "delay",
        Time,
        &mut routing.delay_ps,
        "From a change in the fabric to the other switches' knowing of it. The switch at the port knows at once.",
    );
}

fn visit_table(form: &mut impl Form, table: &mut Table) {
    let mut name = table_name(*table);
    form.key(
        "table",
        Choice(&TABLES),
        &mut name,
        "How weights become picks: `uniform` ignores them (ECMP); `min-move` is a table of 65,536 slots; `wcmp` a \
         reduced table of `entries`; `wcmp-scoring` the same reduction under scoring; `intervals` of the hash (weighted \
         random); `valo` gravity weights under scoring; `scoring` Open vSwitch's way; `turns` weighted round robin in an \
         `order`; `deficit` whoever is furthest behind; `shortest-queue` of `samples` drawn and of a `memory` (DRILL).",
    );
    if name != table_name(*table) {
        *table = table_of(name);
    }
    match table {
        Table::Wcmp { entries } | Table::WcmpScoring { entries } => {
            form.key("entries", Count { least: 1, most: 65_536 }, entries, "Most entries of a `wcmp` table.");
        }
        Table::Turns { block } => {
            let mut order = ORDERS[usize::from(*block)];
            form.key(
                "order",
                Choice(&ORDERS),
                &mut order,
                "Turns spread evenly, or all of a next hop one after the other as the VALO paper's artefact has them.",
            );
            *block = order == ORDERS[1];
        }
        Table::ShortestQueue { samples, memory } => {
            let mut most = (*samples).into();
            form.key(
                "samples",
                Count { least: 1, most: u16::MAX.into() },
                &mut most,
                "Queues drawn at random for a decision; all if it is no less than the next hops.",
            );
            *samples = most as u16;
            let mut kept = (*memory).into();
            form.key(
                "memory",
                Count { least: 0, most: 8 },
                &mut kept,
                "Best queues remembered for the next decision.",
            );
            *memory = kept as u16;
        }
        _ => {}
    }
}

/// `"equal"`, `"capacity"`, or a table of ports.
struct WeightTable;

impl WeightTable {
    const WORDS: [&str; 2] = ["equal", "capacity"];
    const WEIGHT: Whole = Whole { least: 0, most: u32::MAX as u64 };
}

impl Unit for WeightTable {
    type Value = Weights;

    fn read(&self, node: &Node) -> Result<Weights, Refusal> {
        match &node.value {
            Value::Text(word) | Value::Bare(word) if word == Self::WORDS[0] => Ok(Weights::Equal),
            Value::Text(word) | Value::Bare(word) if word == Self::WORDS[1] => Ok(Weights::Capacity),
            Value::Table(table) if !table.0.is_empty() => {
                let given = |entry: &Entry| {
                    let name = Named { text: entry.key.clone(), place: entry.place.clone() };
                    let weight = Self::WEIGHT.read(&entry.node).map_err(|mut refusal| {
                        refusal.problem = format!("\"{}\": {}", entry.key, refusal.problem);
                        refusal
                    })?;
                    Ok((name, weight))
                };
                Ok(Weights::Given(table.0.iter().map(given).collect::<Result<_, _>>()?))
            }
            _ => Err(self.refuse_type(node)),
        }
    }

    fn write(&self, value: &Weights) -> String {
        match value {
            Weights::Equal => quoted(Self::WORDS[0]),
            Weights::Capacity => quoted(Self::WORDS[1]),
            Weights::Given(ports) => {
                let pair = |(port, weight): &(Named, u64)| format!("{} = {weight}", key_text(&port.text));
                format!("{{ {} }}", ports.iter().map(pair).collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn wants(&self) -> String {
        "\"equal\", \"capacity\" or weights of ports such as { \"leaf0>spine0\" = 4, \"leaf0>spine1\" = 3 }"
            .to_owned()
    }
}
