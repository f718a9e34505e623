//! Tables of explicit paths from CSV files: a path a line, its nodes by name.

use crate::Files;
use crate::directory::Directory;
use crate::file;
use crate::section::routing::Routing;
use anabranch_balancers::LoadBalancer;
use anabranch_fabric::{ExplicitPath, Fabric, LINKS_MAX, PathTable};
use anabranch_form::unit::Named;
use anabranch_form::{FormError, Position};
use anabranch_traffic::{CsvError, CsvRows, Fault};
use std::collections::HashMap;
use std::sync::Arc;

/// Form of the file, as errors describe it.
const FORM: &str = "begin the file with the line path,weight or the line path, then a path such as leaf0>spine1>leaf1 in each row";
/// Form of a path, as errors describe it.
const PATH: &str =
    "write it from leaf to leaf, leaf0>spine1>leaf1, or from host to host, host0>leaf0>spine1>leaf1>host9";

/// The table in the file that `routing.paths` names, if it names one.
///
/// # Errors
/// A load balancer that does not follow it, a file that cannot be read, and the first row that is no path of the fabric, by its
/// line.
pub(crate) fn of(
    routing: &mut Routing,
    fabric: &Fabric,
    files: &Files<'_>,
) -> Result<Option<Arc<PathTable>>, FormError> {
    let name = routing.balance();
    let Some(named) = &mut routing.paths else { return Ok(None) };
    if !routing.scheme.get().is_some_and(LoadBalancer::follows_paths) {
        let problem = format!("`{}` follows no explicit paths", name.unwrap_or("the load balancer"));
        let hint = "set routing.balance = \"explicit\", or leave routing.paths out";
        return Err(routing.paths_origin.error("file", &problem, hint));
    }
    let content = file::content(named, "file", &routing.paths_origin, files)?;
    path_table(&content, &named.path, fabric).map(|table| Some(Arc::new(table)))
}

/// Reads a table of paths of `fabric`; `file` names it in errors.
///
/// # Errors
/// The first row that is no path of the fabric, by its line.
pub fn path_table(content: &[u8], file: &str, fabric: &Fabric) -> Result<PathTable, FormError> {
    let mut rows = CsvRows::new(content, file).map_err(of_csv)?;
    let path_column = rows.required("path", FORM).map_err(of_csv)?;
    let weight_column = rows.column("weight");
    let mut names = rows.header().iter().enumerate();
    if let Some((_, stray)) = names.find(|&(at, _)| at != path_column && Some(at) != weight_column) {
        let problem = format!("column `{stray}` is none of path and weight, or is there twice");
        return Err(of_csv(rows.fault((problem, "take it out: nothing would read it".to_owned()))));
    }
    let directory = Directory::of(fabric);
    let leaves = fabric.leaves();
    let (mut all, mut lines) = (Vec::new(), HashMap::new());
    while let Some(row) = rows.read().map_err(of_csv)? {
        let [text, weight] = [Some(path_column), weight_column]
            .map(|column| column.and_then(|column| row.get(column)).unwrap_or_default().to_owned());
        let position = of_csv(rows.fault(Fault::default())).position;
        let refuse = |column: &str, value: &str, problem: &str, hint: &str| {
            FormError::new(position.clone(), format!("{column}: {value}: {problem}"), hint)
        };
        let weight = match weight_column {
            None => 1,
            Some(_) => weight.parse().ok().filter(|&weight: &u32| weight > 0).ok_or_else(|| {
                let hint =
                    "give a whole number from 1 to 4294967295; leave the row out where nothing is to take it";
                refuse("weight", &weight, "is no weight", hint)
            })?,
        };
        let path = path_of(&text, &position, fabric, &directory, &leaves)
            .map_err(|(problem, hint)| refuse("path", &text, &problem, &hint))?;
        let first = *lines.entry((path.ends, path.ports.clone())).or_insert(position.line);
        if first != position.line {
            let problem = format!("is listed on line {} already", first.unwrap_or(0));
            return Err(refuse("path", &text, &problem, "list it once, with a weight"));
        }
        all.push(ExplicitPath { weight, ..path });
    }
    let whole = Position { source: file.into(), line: None };
    if all.is_empty() {
        return Err(FormError::new(whole, "no path", FORM));
    }
    PathTable::new(all).map_err(|error| FormError::new(whole, error.problem, error.hint))
}

/// A path that is written as names of nodes.
fn path_of(
    text: &str,
    position: &Position,
    fabric: &Fabric,
    directory: &Directory<'_>,
    leaves: &[u32],
) -> Result<ExplicitPath, Fault> {
    let names: Vec<&str> = text.split('>').map(str::trim).collect();
    if names.len() < 2 {
        return Err(("is no path".to_owned(), PATH.to_owned()));
    }
    let mut ports = Vec::with_capacity(names.len());
    for pair in names.windows(2) {
        // `#1` behind a name is the number of the link to that node.
        let numbered =
            |name: &str| name.rsplit_once('#').is_some_and(|(_, number)| number.parse::<usize>().is_ok());
        let from = if numbered(pair[0]) { pair[0].rsplit_once('#').unwrap_or_default().0 } else { pair[0] };
        let link = Named { text: format!("{from}>{}", pair[1]), position: position.clone() };
        let found = directory.link(&link).map_err(|error| (error.problem, error.hint))?;
        if found.len() > 1 {
            return Err((
                format!("{} parallel links lead from {from} to {}", found.len(), pair[1]),
                format!("number the one that is meant, {from}>{}#0", pair[1]),
            ));
        }
        ports.extend(found);
    }
    let node = |port: u32| &fabric.ports()[port as usize];
    let mut nodes = vec![node(ports[0]).from];
    nodes.extend(ports.iter().map(|&port| node(port).to));
    let name = |node: u32| fabric.nodes()[node as usize].name.as_str();
    let hosts = fabric.hosts();
    let ends = (nodes[0], nodes[nodes.len() - 1]);
    let mut visited = nodes.clone();
    visited.sort_unstable();
    if let Some(twice) = visited.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err((format!("visits {} twice", name(twice[0])), "list a path without a circle".to_owned()));
    }
    match (ends.0 < hosts, ends.1 < hosts) {
        (true, true) => {
            ports.pop();
            ports.remove(0);
        }
        (false, false) => {
            if let Some(&other) = [ends.0, ends.1].iter().find(|&end| leaves.binary_search(end).is_err()) {
                return Err((format!("{} has no hosts", name(other)), PATH.to_owned()));
            }
        }
        _ => return Err(("joins a host and a switch".to_owned(), PATH.to_owned())),
    }
    if let Some(&host) = nodes[1..nodes.len() - 1].iter().find(|&&node| node < hosts) {
        return Err((format!("leads through host {}", name(host)), PATH.to_owned()));
    }
    // A packet that reaches the last leaf goes on to its host.
    match ports.len() {
        0 => Err((
            "joins hosts of one leaf, where no path is chosen".to_owned(),
            "leave the row out".to_owned(),
        )),
        links if links > LINKS_MAX => Err((
            format!("takes {links} links between switches"),
            format!("list paths of {LINKS_MAX} links at most"),
        )),
        _ => Ok(ExplicitPath { ends, ports, weight: 1 }),
    }
}

fn of_csv(error: CsvError) -> FormError {
    let line = error.line.and_then(|line| u32::try_from(line).ok());
    FormError::new(Position { source: error.file.into(), line }, error.problem, error.hint)
}
