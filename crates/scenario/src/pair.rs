//! A load balancer's plan for a pair of leaves of a file's fabric, as it is when a run begins.

use crate::Files;
use crate::directory::Directory;
use crate::fabric_file::require_fabric;
use crate::resolve::changes;
use crate::section::change::Alteration;
use crate::section::fabric::{KINDS, Shape};
use crate::section::routing::Routing;
use crate::section::{change, fabric, routing};
use anabranch_balancers::{PairPlan, registry};
use anabranch_fabric::{Fabric, LinkState};
use anabranch_form::document::{Table, Value};
use anabranch_form::{Form, FormError, Origin, Position, Reader, document, nearest};
use std::path::Path;

/// Tables of a file that a plan is made from.
const READ: [&str; 3] = ["fabric", "change", "routing"];
/// Most leaves that a message lists.
const LISTED: usize = 8;

/// The plan of the load balancer `balance` for packets between two leaves, by name, of the fabric that `text`, which came
/// from `file`, describes: a scenario or the controller's file. Its links are as a scenario's changes leave them when the
/// run begins. `[routing.scheme]` counts if the file names the same load balancer; its other tables are left to others.
///
/// # Errors
/// What is wrong in these tables or in `overrides`, two names that are not two leaves, and a pair that the load balancer
/// has no plan for.
pub fn plan_pair(
    text: &str,
    file: &str,
    balance: &str,
    overrides: &[(String, String)],
    pair: [&str; 2],
) -> Result<PairPlan, FormError> {
    let position = Position { source: file.into(), line: None };
    let mut document = document::parse(text, file, &[])?;
    require_fabric(&document, &position)?;
    document.0.retain(|entry| {
        READ.contains(&entry.key.as_str()) && (entry.key != "routing" || names(&entry.node.value, balance))
    });
    for (key, value) in overrides {
        check_override(key, value)?;
        document::apply(&mut document, key, value)?;
    }
    document::apply(&mut document, "routing.balance", balance)?;
    let mut reader = Reader::new(document, position.clone());
    let (mut shape, mut switch, mut origin) = (Shape::of_kind(KINDS[0]), None, Origin::default());
    reader.table("fabric", "The fabric as built.", |form| {
        fabric::visit(form, &mut shape, &mut switch);
        form.origin(&mut origin);
    });
    let mut alterations = Vec::new();
    reader.tables("change", &mut alterations, "Changes of the fabric.", Alteration::default, change::visit);
    let mut routing = Routing::default();
    reader.table("routing", "The load balancer.", |form| routing::visit(form, &mut routing));
    reader.finish()?;
    let built = shape.build(&origin, &Files::of(Path::new(file).parent().unwrap_or(Path::new(""))))?.fabric;
    let mut links = LinkState::of(&built);
    let begun = changes(&Directory::of(&built), &alterations)?;
    for change in begun.iter().take_while(|change| change.at_ps == 0) {
        links.apply(change.what);
    }
    let [from, to] = leaves(&built, pair)?;
    if let Some(mutation) = routing.mutation {
        return Err(FormError::new(
            position,
            format!("routing.mutation: {}: a plan is that of the load balancer as it is", mutation.name),
            "leave the key out",
        ));
    }
    let planner = routing.scheme.get().and_then(|balancer| balancer.pair_planner()).ok_or_else(|| {
        let known = registry::pair_planners().map(|descriptor| descriptor.name).collect::<Vec<_>>();
        FormError::new(
            position.clone(),
            format!("{balance}: makes no plan for pairs of leaves"),
            format!("use one of {}", known.join(", ")),
        )
    })?;
    let plan = planner.plan_pair(&built, &links, from, to);
    plan.map_err(|error| FormError::new(position, error.problem, error.hint))
}

/// Whether a table `[routing]` names this load balancer.
fn names(routing: &Value, balance: &str) -> bool {
    let Value::Table(Table(entries)) = routing else { return true };
    let named = entries.iter().find(|entry| entry.key == "balance").map(|entry| &entry.node.value);
    matches!(named, Some(Value::Text(name)) if name == balance)
}

fn check_override(key: &str, value: &str) -> Result<(), FormError> {
    let position = Position { source: format!("-o {key}={value}").into(), line: None };
    if key == "routing.balance" {
        let hint = "leave it out: --target names the load balancer".to_owned();
        return Err(FormError::new(position, "not used by a plan", hint));
    }
    if !READ.contains(&key.split('.').next().unwrap_or_default()) {
        let hint =
            "change keys below fabric, change or routing, as in -o routing.scheme.KEY=VALUE".to_owned();
        return Err(FormError::new(position, "not used by a plan", hint));
    }
    Ok(())
}

/// The nodes of two different leaves by name.
fn leaves(fabric: &Fabric, pair: [&str; 2]) -> Result<[u32; 2], FormError> {
    let leaves = fabric.leaves();
    let name = |&leaf: &u32| fabric.nodes()[leaf as usize].name.as_str();
    let refuse = |problem: String, hint: String| {
        let position = Position { source: "pair".into(), line: None };
        FormError::new(position, problem, hint)
    };
    let some = || {
        let more = if leaves.len() > LISTED { ", ..." } else { "" };
        format!(
            "give two leaves: {}{more}",
            leaves.iter().take(LISTED).map(name).collect::<Vec<_>>().join(", ")
        )
    };
    let leaf = |word: &str| {
        if let Some(&leaf) = leaves.iter().find(|&leaf| name(leaf) == word) {
            return Ok(leaf);
        }
        Err(match fabric.nodes().iter().position(|node| node.name == word) {
            Some(host) if (host as u32) < fabric.hosts() => {
                let leaf = fabric.leaf_of(host as u32);
                refuse(format!("{word}: is a host"), format!("give its leaf, {}", name(&leaf)))
            }
            Some(_) => refuse(format!("{word}: is no leaf, as it has no hosts"), some()),
            None => {
                let near = nearest::near(word, leaves.iter().map(name));
                let hint = near.map_or_else(some, |name| format!("did you mean `{name}`?"));
                refuse(format!("{word}: unknown"), hint)
            }
        })
    };
    let found = [leaf(pair[0])?, leaf(pair[1])?];
    if found[0] == found[1] {
        return Err(refuse(format!("{0} {0}: is the same leaf twice", pair[0]), some()));
    }
    Ok(found)
}
