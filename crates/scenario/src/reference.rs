//! The reference page of all keys, from the descriptions that read them.

use crate::NamedFile;
use crate::Scenario;
use crate::section::fabric::Shape;
use crate::section::routing::Routing;
use crate::section::switch::SwitchSetting;
use crate::section::traffic::{Demand, Traffic, WorkSetting};
use crate::section::{fabric, replay, switch, traffic, transport};
use anabranch_balancers::{Build, Descriptor, MUTATIONS, registry};
use anabranch_form::unit::quoted;
use anabranch_form::{Reference, Row, Wants};
use std::fmt::Write as _;

/// A key over all kinds of its table.
struct Merged {
    row: Row,
    /// The kinds that have it, with its default in each.
    kinds: Vec<(&'static str, String)>,
}

/// The page `docs/scenario.md`.
#[must_use]
pub fn reference() -> String {
    let whole = rows(&Scenario::named("scenario"));
    let top = || whole.iter().filter(|row| !row.path.contains('.'));
    let mut page = format!("{HEAD}{COLUMNS}");
    for row in top() {
        let kinds = vec![("", row.default.clone())];
        match row.wants {
            Wants::Value(_) => line(&mut page, &Merged { row: row.clone(), kinds }, &[""]),
            Wants::Table | Wants::Tables => {}
        }
    }
    for table in top() {
        let header = match table.wants {
            Wants::Value(_) => continue,
            Wants::Table => format!("[{}]", table.path),
            Wants::Tables => format!("[[{}]]", table.path),
        };
        let variants: Vec<_> =
            variants(&table.path).into_iter().filter(|(_, scenario)| scenario.switch.is_none()).collect();
        let _ = write!(page, "\n## `{header}`\n\n{}\n\n{COLUMNS}", table.meaning);
        let kinds: Vec<&'static str> = variants.iter().map(|(kind, _)| *kind).collect();
        for one in merged(&table.path, &variants) {
            line(&mut page, &one, &kinds);
        }
        if table.path == "routing" {
            mutations(&mut page);
            schemes(&mut page);
        } else if table.path == "fabric" {
            switches(&mut page);
        }
    }
    page
}

/// The keys of switches with classes, with the defaults of each preset.
fn switches(page: &mut String) {
    let variants: Vec<_> =
        variants("fabric").into_iter().filter(|(_, scenario)| scenario.switch.is_some()).collect();
    let kinds: Vec<&'static str> = variants.iter().map(|(kind, _)| *kind).collect();
    let _ = write!(page, "\n### `[fabric.switch]` of `preset`\n\n{COLUMNS}");
    for mut one in merged("fabric", &variants) {
        if let Some(below) = one.row.path.strip_prefix("fabric.switch.") {
            one.row.path = format!("switch.{below}");
            line(page, &one, &kinds);
        }
    }
}

/// What `mutation` can break.
fn mutations(page: &mut String) {
    page.push_str("\n### `mutation`\n\n| value | breaks | so that |\n|---|---|---|\n");
    for mutation in &MUTATIONS {
        let balancers = mutation.balancers.join("`, `");
        let _ = writeln!(page, "| `{}` | `{balancers}` | {} |", mutation.name, mutation.broken);
    }
}

/// The parameters of each scheme that has some of its own.
fn schemes(page: &mut String) {
    for descriptor in registry::all().filter(|descriptor| matches!(descriptor.build, Build::Scheme(_))) {
        let name = descriptor.name;
        let parameters = scheme_parameters(name);
        if parameters.is_empty() {
            continue;
        }
        let _ = write!(page, "\n### `[routing.scheme]` of `balance = \"{name}\"`\n\n{COLUMNS}");
        for Parameter { key, wants, default, meaning } in parameters {
            let key = key.trim_start_matches("scheme.");
            let wants = wants.replace('|', "\\|");
            let _ = writeln!(page, "| `{key}` | {wants} | {default} | {meaning} |");
        }
    }
}

/// A key that a load balancer has for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The key below `routing`, or below `transport`.
    pub key: String,
    /// Description of the values that may be written.
    pub wants: String,
    /// Its default, as TOML in backquotes.
    pub default: String,
    /// Meaning for people.
    pub meaning: &'static str,
}

/// The parameters of a load balancer that `routing.balance` names: keys beside those that every one has. Unknown
/// names have none.
#[must_use]
pub fn scheme_parameters(balance: &str) -> Vec<Parameter> {
    const COMMON: [&str; 7] = ["balance", "granularity", "weights", "table", "delay", "mutation", "hash"];
    let Some(descriptor) = registry::find(balance) else { return Vec::new() };
    let scenario = Scenario { routing: Routing::of(descriptor), ..Scenario::named("scenario") };
    rows(&scenario)
        .into_iter()
        .filter_map(|Row { path, wants, default, meaning }| {
            let key = path.strip_prefix("routing.")?;
            let Wants::Value(wants) = wants else { return None };
            let top = key.split('.').next().unwrap_or(key);
            (!COMMON.contains(&top)).then(|| Parameter { key: key.to_owned(), wants, default, meaning })
        })
        .collect()
}

/// The parameters of a kind of transport beside those of TCP.
#[must_use]
pub fn transport_parameters(kind: &str) -> Vec<Parameter> {
    let of = |kind| rows(&Scenario { transport: transport::of_kind(kind), ..Scenario::named("scenario") });
    let common = of("newreno");
    of(kind)
        .into_iter()
        .filter(|row| common.iter().all(|known| known.path != row.path))
        .filter_map(|Row { path, wants, default, meaning }| {
            let key = path.strip_prefix("transport.")?;
            let Wants::Value(wants) = wants else { return None };
            Some(Parameter { key: key.to_owned(), wants, default, meaning })
        })
        .collect()
}

pub(crate) fn rows(scenario: &Scenario) -> Vec<Row> {
    let mut reference = Reference::default();
    scenario.clone().visit(&mut reference);
    reference.rows
}

/// Scenarios that together have every key of a table, by the kind they differ in; the first has the defaults.
pub(crate) fn variants(table: &str) -> Vec<(&'static str, Scenario)> {
    let base = || Scenario::named("scenario");
    let fabric = |kind| (kind, Scenario { fabric: Shape::of_kind(kind), ..base() });
    let traffic = |kind| (kind, Scenario { traffic: vec![Traffic::of_kind(kind)], ..base() });
    let transport = |(name, transport)| (name, Scenario { transport, ..base() });
    match table {
        "fabric" => {
            let preset = |preset| (preset, Scenario { switch: Some(SwitchSetting::of(preset)), ..base() });
            fabric::KINDS.into_iter().map(fabric).chain(switch::PRESETS.into_iter().map(preset)).collect()
        }
        "routing" => {
            // One of each granularity and table that has keys of its own.
            let kind = |descriptor: &Descriptor| {
                (descriptor.name, Scenario { routing: Routing::of(descriptor), ..base() })
            };
            let paths = Routing { paths: Some(NamedFile::default()), ..Routing::default() };
            let paths = ("explicit paths", Scenario { routing: paths, ..base() });
            ["ecmp", "letflow", "flowcell", "wcmp", "wrr", "drill"]
                .into_iter()
                .filter_map(registry::find)
                .map(kind)
                .chain([paths])
                .collect()
        }
        "traffic" => {
            let complete = Traffic { demand: Demand::Graph(WorkSetting::complete()), ..Traffic::default() };
            let complete = ("graph with all keys", Scenario { traffic: vec![complete], ..base() });
            let training = Traffic { demand: Demand::Graph(WorkSetting::training()), ..Traffic::default() };
            let training = ("graph of training", Scenario { traffic: vec![training], ..base() });
            let inference = Traffic { demand: Demand::Graph(WorkSetting::inference()), ..Traffic::default() };
            let inference = ("graph of inference", Scenario { traffic: vec![inference], ..base() });
            traffic::KINDS.into_iter().map(traffic).chain([complete, training, inference]).collect()
        }
        "transport" => transport::variants().into_iter().map(transport).collect(),
        "replay" => vec![("", Scenario { replay: Some(replay::DEFAULT), ..base() })],
        _ => vec![("", base())],
    }
}

/// The keys below a table, each once, in the order in which they are read.
fn merged(table: &str, variants: &[(&'static str, Scenario)]) -> Vec<Merged> {
    let mut merged: Vec<Merged> = Vec::new();
    for (kind, scenario) in variants {
        let below = |row: &Row| row.path.split_once('.').is_some_and(|(top, _)| top == table);
        let rows: Vec<Row> = rows(scenario).into_iter().filter(below).collect();
        for (number, row) in rows.iter().enumerate() {
            // Tables of the same keys are told apart by their own rows.
            let same = |one: &Merged| {
                one.row.path != row.path && one.row.wants == row.wants && one.row.meaning == row.meaning
            };
            if matches!(row.wants, Wants::Value(_)) && merged.iter().any(same) {
                continue;
            }
            let rank = |row: &Row| {
                merged.iter().position(|one| one.row.path == row.path && one.row.meaning == row.meaning)
            };
            let known = rank(row);
            // What other kinds have too stays behind what only this one has.
            let next = rows[number..].iter().find_map(rank).unwrap_or(merged.len());
            let index = known.unwrap_or(next);
            if known.is_none() {
                merged.insert(index, Merged { row: row.clone(), kinds: Vec::new() });
            }
            merged[index].kinds.push((kind, row.default.clone()));
        }
    }
    merged
}

/// The kinds that have a key, or those that have it not, whichever are fewer.
fn only(one: &Merged, variants: &[&'static str]) -> String {
    let with = |kind: &&&'static str| one.kinds.iter().any(|(has, _)| *has == **kind);
    let has: Vec<&str> = variants.iter().filter(with).copied().collect();
    let lacks: Vec<&str> = variants.iter().filter(|kind| !with(kind)).copied().collect();
    match (has.len(), lacks.len()) {
        (_, 0) => String::new(),
        (many, few) if few < many => format!("(not {}) ", lacks.join(", ")),
        _ => format!("({}) ", has.join(", ")),
    }
}

/// One row of a table of keys; `variants` are the kinds in which it could stand.
fn line(page: &mut String, one: &Merged, variants: &[&'static str]) {
    let Row { path, wants, meaning, .. } = &one.row;
    let key = path.split_once('.').map_or(path.as_str(), |(_, below)| below);
    let wants = match wants {
        Wants::Value(wants) => wants.replace('|', "\\|"),
        Wants::Table | Wants::Tables => "a table".to_owned(),
    };
    let only = only(one, variants);
    let _ = writeln!(page, "| `{key}` | {wants} | {} | {only}{meaning} |", default(one));
}

/// The default, by kind where it depends on it.
fn default(one: &Merged) -> String {
    let (kind, first) = &one.kinds[0];
    let same = one.kinds.iter().all(|(_, default)| default == first);
    if same || kind.is_empty() || *first == format!("`{}`", quoted(kind)) {
        return first.clone();
    }
    let each = one.kinds.iter().map(|(kind, default)| format!("{default} ({kind})"));
    each.collect::<Vec<_>>().join(", ")
}

const COLUMNS: &str = "| key | value | default | meaning |\n|---|---|---|---|\n";

const HEAD: &str = "\
# Scenario files

<!-- Printed by `cargo run -p anabranch-scenario --example reference`; a test compares. -->

A scenario is a TOML file: a fabric, what fails in it, how switches spread, what hosts do, which flows there are, and
what is written down. `examples/leaf-spine.toml` is one; every key below but those of `[[traffic]]` may be left out.

* **Quantities are text with a unit.** Times: `s`, `ms`, `us`, `ns`, `ps`. Rates: `Tbps`, `Gbps`, `Mbps`, `kbps`, `bps`
  (also `Gbit/s`, `Gb/s`). Sizes: `GB`, `MB`, `KB`, `B` in powers of ten, `GiB`, `MiB`, `KiB` in powers of two. They are
  converted exactly, or refused. Shares and factors are plain numbers.
* **Names.** Nodes are called `host0`, `leaf0`, `spine0`, and so on; `anabranch show` lists them. `leaf0-spine1` is a
  link, `leaf0>spine1` its direction from leaf to spine, `leaf0-spine1#0` the first of parallel links.
* **Overrides.** `-o key=value` replaces a key by its path, as in `-o traffic.load=0.8` or `-o fabric.link.rate=\"25
  Gbps\"`. Entries of `[[...]]` are numbered from 0 (`traffic.0.load`); without a number all of them are meant; the
  number after the last adds one: `-o 'change.0={link=\"leaf0-spine0\", set=\"down\"}'`.
* **The resolved scenario** (`anabranch show --settings`, and `scenario.toml` in every folder of results) has every key
  with its value, in canonical order and units. It reads as the same scenario. A hash of its text and of the model's
  version names the folder: what would give other results has another name.
* **Errors** name the file and line, or the override, the key, the value and the hint.

Where a key exists, or has its default, for some kinds of a table only, the kinds stand in parentheses.

## Top

";
