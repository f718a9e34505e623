//! `[routing]`: how switches spread, and how fast they learn.

use anabranch_balancers::{
    Balancing, Build, DefaultWeights, Descriptor, Granularity, Mutation, Scheme, Table, registry,
};
use anabranch_form::document::{Entry, Node, Value};
use anabranch_form::unit::{Bytes, Choice, Count, Named, Nanoseconds, Refusal, Time, Unit, Whole, quoted};
use anabranch_form::{Form, Origin, key as key_text, nearest};
use std::sync::LazyLock;

use crate::file::{self, NamedFile};
use crate::section::hash;
use crate::section::hash::HashSetting;

/// How switches spread, and how fast they learn.
#[derive(Clone, Debug, PartialEq)]
pub struct Routing {
    /// Unit that is kept on one path.
    pub granularity: Granularity,
    /// Source of the weights.
    pub weights: Weights,
    /// How weights become picks.
    pub table: Table,
    /// Hashes that switches are configured to; all hash ideally if there are none.
    pub hashes: Vec<HashSetting>,
    /// Load balancer that decides beside, or instead of, the tables.
    pub scheme: Scheme,
    /// Table of explicit paths, for a load balancer that follows them.
    pub paths: Option<NamedFile>,
    /// Where `paths` stands.
    pub(crate) paths_origin: Origin,
    /// From a change to the other switches' knowing of it, in picoseconds.
    pub delay_ps: u64,
    /// Mechanism of the load balancer that is broken on purpose.
    pub mutation: Option<&'static Mutation>,
}

/// Source of the weights of a group, with ports still by name.
#[derive(Clone, Debug, PartialEq)]
pub enum Weights {
    /// Every next hop alike.
    Equal,
    /// The capacity of the paths behind.
    Capacity,
    /// A weight per neighbour, by `leaf0>spine1`.
    Given(Vec<(Named, u64)>),
}

/// Names of all load balancers, as `anabranch schemes` lists them.
pub(crate) static NAMES: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| registry::all().map(|descriptor| descriptor.name).collect());
static GRANULARITIES: [&str; Granularity::ALL.len()] = {
    let mut names = [""; Granularity::ALL.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = Granularity::ALL[index].name();
        index += 1;
    }
    names
};
static TABLES: [&str; Table::ALL.len()] = {
    let mut names = [""; Table::ALL.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = Table::ALL[index].name();
        index += 1;
    }
    names
};
const ORDERS: [&str; 2] = ["smooth", "block"];

/// A load balancer by name.
struct LoadBalancer;

impl Unit for LoadBalancer {
    type Value = &'static str;

    fn read(&self, node: &Node) -> Result<&'static str, Refusal> {
        Choice(NAMES.as_slice()).read(node).map_err(|mut refusal| {
            // No load balancer's name has a colon; `FILE.py:CLASS` and `crate:FOLDER` have.
            if matches!(&node.value, Value::Text(word) | Value::Bare(word) if word.contains(':')) {
                refusal.hint =
                    "a load balancer of your own can be named in a scenario that `anabranch run` or ab.run \
                                runs, in `anabranch compare`, or on the axis `routing.balance` of a study"
                        .to_owned();
            }
            refusal
        })
    }

    fn write(&self, value: &&'static str) -> String {
        quoted(value)
    }

    fn wants(&self) -> String {
        Choice(NAMES.as_slice()).wants()
    }
}

impl Default for Routing {
    fn default() -> Self {
        let Balancing { granularity, table, scheme, .. } = Balancing::ECMP;
        Self {
            granularity,
            weights: Weights::Equal,
            table,
            hashes: Vec::new(),
            scheme,
            paths: None,
            paths_origin: Origin::default(),
            delay_ps: 0,
            mutation: None,
        }
    }
}

impl Routing {
    /// Name of the load balancer that these choices are, if one has them.
    #[must_use]
    pub fn balance(&self) -> Option<&'static str> {
        let weights = match self.weights {
            Weights::Equal => Some(DefaultWeights::Equal),
            Weights::Capacity => Some(DefaultWeights::Capacity),
            Weights::Given(_) => None,
        };
        registry::name_of(&self.scheme, self.granularity, weights, self.table)
    }

    /// Mechanisms that can be broken of what these choices are; weights as written count as unequal.
    #[must_use]
    pub fn mutations(&self) -> Vec<&'static Mutation> {
        let weights = match self.weights {
            Weights::Equal => DefaultWeights::Equal,
            Weights::Capacity | Weights::Given(_) => DefaultWeights::Capacity,
        };
        let name = registry::name_of(&self.scheme, self.granularity, Some(weights), self.table);
        name.and_then(registry::find).into_iter().flat_map(Descriptor::mutations).collect()
    }

    /// A load balancer with the defaults of everything that its name leaves open.
    #[must_use]
    pub fn of(descriptor: &Descriptor) -> Self {
        let mut routing = Self::default();
        routing.set(descriptor);
        routing
    }

    fn set(&mut self, descriptor: &Descriptor) {
        self.weights = match descriptor.weights {
            DefaultWeights::Equal => Weights::Equal,
            DefaultWeights::Capacity => Weights::Capacity,
        };
        match descriptor.build {
            Build::Tables(granularity, table) => {
                (self.granularity, self.table, self.scheme) = (granularity, table, Scheme::TABLES);
            }
            Build::Scheme(scheme) => self.scheme = scheme(),
        }
    }
}

/// The keys.
pub(crate) fn visit(form: &mut impl Form, routing: &mut Routing) {
    let mut balance = routing.balance();
    form.optional(
        "balance",
        LoadBalancer,
        &mut balance,
        "A load balancer by name, as `anabranch schemes` lists them: a name for granularity, weights and table together, \
         any of which given beside it replaces its part, or a scheme with parameters of its own.",
    );
    if routing.balance() != balance
        && let Some(descriptor) = balance.and_then(registry::find)
    {
        routing.set(descriptor);
    }
    let mut granularity = routing.granularity.name();
    form.key(
        "granularity",
        Choice(&GRANULARITIES),
        &mut granularity,
        "What is kept on one path by the switches: all packets of a flow; flowlets, which a pause of `gap` ends; flowcells \
         of `cell` bytes; or each packet by itself (spraying).",
    );
    if granularity != routing.granularity.name()
        && let Some(named) = Granularity::ALL.into_iter().find(|one| one.name() == granularity)
    {
        routing.granularity = named;
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
        if let Some(balancer) = routing.scheme.get_mut() {
            balancer.visit(&mut form.keys());
        }
    });
    form.optional_table(
        "paths",
        &mut routing.paths,
        "Explicit paths, for a load balancer that follows them. Default: all shortest ones, or a table that it makes.",
        NamedFile::default,
        |form, file| {
            file::visit(
                form,
                file,
                "CSV file with a path in each row, as `anabranch paths` writes it: leaf0>spine1>leaf1, or from host to \
                 host, and a column `weight` if paths are to get unequal parts.",
            );
            form.origin(&mut routing.paths_origin);
        },
    );
    form.key(
        "delay",
        Time,
        &mut routing.delay_ps,
        "From a change in the fabric to the other switches' knowing of it. The switch at the port knows at once.",
    );
    let mutations = routing.mutations();
    form.optional(
        "mutation",
        Breakable(&mutations),
        &mut routing.mutation,
        "Mechanism of the load balancer that is broken on purpose, to see which results depend on it. Only a scenario that \
         breaks one has the key.",
    );
    form.tables(
        "hash",
        &mut routing.hashes,
        "Hashes of header fields that switches choose by. Without an entry each has an ideal one of its own.",
        HashSetting::default,
        hash::visit,
    );
}

fn visit_table(form: &mut impl Form, table: &mut Table) {
    let mut name = table.name();
    form.key(
        "table",
        Choice(&TABLES),
        &mut name,
        "How weights become picks: `uniform` ignores them (ECMP); `min-move` is a table of 65,536 slots; `wcmp` a \
         reduced table of `entries`; `wcmp-scoring` the same reduction under scoring; `intervals` of the hash (weighted \
         random); `valo` gravity weights under scoring; `scoring` Open vSwitch's way; `turns` weighted round robin in an \
         `order`; `deficit` whoever is furthest behind; `shortest-queue` of `samples` drawn and of a `memory` (DRILL).",
    );
    if name != table.name()
        && let Some(named) = Table::ALL.into_iter().find(|one| one.name() == name)
    {
        *table = named;
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
        Table::Uniform
        | Table::MinMove
        | Table::Intervals
        | Table::Valo
        | Table::Scoring
        | Table::Deficit => {}
    }
}

/// One of the mutations of the load balancer.
struct Breakable<'a>(&'a [&'static Mutation]);

impl Unit for Breakable<'_> {
    type Value = &'static Mutation;

    fn read(&self, node: &Node) -> Result<&'static Mutation, Refusal> {
        let (Value::Text(word) | Value::Bare(word)) = &node.value else { return Err(self.refuse_type(node)) };
        if let Some(mutation) = self.0.iter().find(|mutation| mutation.name == word) {
            return Ok(mutation);
        }
        let problem = match Mutation::find(word) {
            Some(other) => {
                format!("`{word}` breaks {}, and another load balancer runs", other.balancers.join(", "))
            }
            None => format!("`{word}` is unknown"),
        };
        let mut refusal = self.refuse(node, problem);
        refusal.hint = match self.0 {
            [] => "leave the key out: no mechanism of this load balancer can be broken on purpose".to_owned(),
            own => nearest::hint(word, own.iter().map(|mutation| mutation.name)),
        };
        Err(refusal)
    }

    fn write(&self, value: &&'static Mutation) -> String {
        quoted(value.name)
    }

    fn wants(&self) -> String {
        "a mutation of the load balancer, by its name".to_owned()
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
                    let name = Named { text: entry.key.clone(), position: entry.position.clone() };
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
