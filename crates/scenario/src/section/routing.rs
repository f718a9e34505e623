//! `[routing]`: how switches spread, and how fast they learn.

use crate::document::{Entry, Node, Value};
use crate::form::{Form, key as key_text};
use crate::unit::{Choice, Count, Named, Refusal, Time, Unit, Whole, quoted};
use anabranch_plan::{Granularity, Table};

/// How switches spread, and how fast they learn.
#[derive(Clone, Debug, PartialEq)]
pub struct Routing {
    /// What is kept together.
    pub granularity: Granularity,
    /// Where weights come from.
    pub weights: Weights,
    /// How weights become picks.
    pub table: Table,
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

static PRESETS: [Preset; 7] = [
    Preset { name: "ecmp", granularity: Granularity::Flow, weights: Weights::Equal, table: Table::Uniform },
    Preset {
        name: "weighted",
        granularity: Granularity::Flow,
        weights: Weights::Capacity,
        table: Table::MinMove,
    },
    Preset {
        name: "wcmp",
        granularity: Granularity::Flow,
        weights: Weights::Capacity,
        table: Table::Wcmp { entries: WCMP_ENTRIES },
    },
    Preset { name: "valo", granularity: Granularity::Flow, weights: Weights::Capacity, table: Table::Valo },
    Preset {
        name: "scoring",
        granularity: Granularity::Flow,
        weights: Weights::Capacity,
        table: Table::Scoring,
    },
    Preset {
        name: "spray",
        granularity: Granularity::Packet,
        weights: Weights::Equal,
        table: Table::Uniform,
    },
    Preset {
        name: "weighted-spray",
        granularity: Granularity::Packet,
        weights: Weights::Capacity,
        table: Table::Turns,
    },
];

const PRESET_NAMES: [&str; PRESETS.len()] = {
    let mut names = [""; PRESETS.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = PRESETS[index].name;
        index += 1;
    }
    names
};
const GRANULARITIES: [&str; 2] = ["flow", "packet"];
const TABLES: [&str; 6] = ["uniform", "min-move", "wcmp", "valo", "scoring", "turns"];

impl Default for Routing {
    fn default() -> Self {
        let ecmp = &PRESETS[0];
        Self { granularity: ecmp.granularity, weights: ecmp.weights.clone(), table: ecmp.table, delay_ps: 0 }
    }
}

impl Routing {
    /// The preset these choices are, if they are one.
    #[must_use]
    pub fn preset(&self) -> Option<&'static str> {
        let same = |preset: &&Preset| {
            preset.granularity == self.granularity
                && preset.weights == self.weights
                && table_name(preset.table) == table_name(self.table)
        };
        PRESETS.iter().find(same).map(|preset| preset.name)
    }
}

fn table_name(table: Table) -> &'static str {
    match table {
        Table::Uniform => TABLES[0],
        Table::MinMove => TABLES[1],
        Table::Wcmp { .. } => TABLES[2],
        Table::Valo => TABLES[3],
        Table::Scoring => TABLES[4],
        Table::Turns => TABLES[5],
    }
}

/// The keys.
pub(crate) fn visit(form: &mut impl Form, routing: &mut Routing) {
    let mut balance = routing.preset();
    form.optional(
        "balance",
        Choice(&PRESET_NAMES),
        &mut balance,
        "A name for granularity, weights and table together; any of the three given beside it replaces its part.",
    );
    if let Some(preset) = PRESETS.iter().find(|preset| Some(preset.name) == balance)
        && routing.preset() != balance
    {
        routing.granularity = preset.granularity;
        routing.weights.clone_from(&preset.weights);
        routing.table = preset.table;
    }
    let mut granularity = GRANULARITIES[usize::from(routing.granularity == Granularity::Packet)];
    form.key(
        "granularity",
        Choice(&GRANULARITIES),
        &mut granularity,
        "What is kept on one path: all packets of a flow, or each packet by itself (spraying).",
    );
    routing.granularity =
        if granularity == GRANULARITIES[0] { Granularity::Flow } else { Granularity::Packet };
    form.key(
        "weights",
        WeightTable,
        &mut routing.weights,
        "Where the weights of next hops come from: all equal, the capacity of the paths behind each, or as written. \
         Ports that are not written weigh 1; parallel links share the weight of their neighbour.",
    );
    let mut table = table_name(routing.table);
    form.key(
        "table",
        Choice(&TABLES),
        &mut table,
        "How weights become picks: `uniform` ignores them (ECMP); `min-move` is a table of 65,536 slots; `wcmp` a \
         reduced table of `entries`; `valo` gravity weights under scoring; `scoring` Open vSwitch's way; `turns` \
         smooth weighted round robin, per packet only.",
    );
    if table != table_name(routing.table) {
        routing.table = match table {
            "uniform" => Table::Uniform,
            "min-move" => Table::MinMove,
            "wcmp" => Table::Wcmp { entries: WCMP_ENTRIES },
            "valo" => Table::Valo,
            "scoring" => Table::Scoring,
            _ => Table::Turns,
        };
    }
    if let Table::Wcmp { entries } = &mut routing.table {
        form.key("entries", Count { least: 1, most: 65_536 }, entries, "Most entries of a `wcmp` table.");
    }
    if routing.table == Table::Turns && routing.granularity == Granularity::Flow {
        form.refuse(
            "table",
            "`turns` picks for each packet, granularity is `flow`".to_owned(),
            "set granularity = \"packet\", or choose another table".to_owned(),
        );
    }
    form.key(
        "delay",
        Time,
        &mut routing.delay_ps,
        "From a change in the fabric to the other switches' knowing of it. The switch at the port knows at once.",
    );
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
