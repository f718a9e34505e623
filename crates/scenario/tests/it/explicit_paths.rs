//! Tables of explicit paths: what a row means, and what is refused, by its line.

use anabranch_fabric::{Fabric, PathTable};
use anabranch_scenario::Scenario;
use std::path::Path;

/// Two leaves with two hosts each, two spines, and a second link between leaf 0 and spine 0.
const FABRIC: &str = "[fabric]\nkind = \"graph\"\n\
    node = [\n\
    { name = \"h0\", tier = \"host\" }, { name = \"h1\", tier = \"host\" }, { name = \"h2\", tier = \"host\" }, { name = \"h3\", tier = \"host\" },\n\
    { name = \"leaf-0\", tier = \"leaf\" }, { name = \"leaf-1\", tier = \"leaf\" },\n\
    { name = \"spine0\", tier = \"spine\" }, { name = \"spine1\", tier = \"spine\" } ]\n\
    edge = [\n\
    { from = \"h0\", to = \"leaf-0\" }, { from = \"h1\", to = \"leaf-0\" }, { from = \"h2\", to = \"leaf-1\" }, { from = \"h3\", to = \"leaf-1\" },\n\
    { from = \"leaf-0\", to = \"spine0\" }, { from = \"leaf-0\", to = \"spine0\" }, { from = \"leaf-0\", to = \"spine1\" },\n\
    { from = \"spine0\", to = \"leaf-1\" }, { from = \"spine1\", to = \"leaf-1\" } ]\n";

fn folder() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// What the table in a file of this name is, with flows that it has paths for.
fn read(name: &str, table: &str, routing: &str) -> Result<(Fabric, PathTable), String> {
    std::fs::write(folder().join(name), table).unwrap();
    let flows = "id,src,dst,size_bytes,start_ns\n0,h0,h2,10000,0\n";
    std::fs::write(folder().join(format!("flows_of_{name}")), flows).unwrap();
    let traffic = format!("[[traffic]]\nkind = \"flow-list\"\nfile = \"flows_of_{name}\"\n");
    let text = format!("{FABRIC}{traffic}[routing]\n{routing}paths.file = \"{name}\"\n");
    let scenario = Scenario::parse(&text, "s.toml", &[]).map_err(|error| error.to_string())?;
    let resolved = scenario.resolve(folder()).map_err(|error| error.to_string())?;
    resolved.flows().map_err(|error| error.to_string())?;
    let canonical = Scenario::parse(&resolved.to_toml(), "s.toml", &[]).unwrap().resolve(folder()).unwrap();
    assert_eq!(canonical.identity(), resolved.identity());
    assert_eq!(resolved.named_files().len(), 2);
    let table = resolved.settings().balancing.paths.clone().unwrap();
    Ok((resolved.fabric().clone(), (*table).clone()))
}

const EXPLICIT: &str = "balance = \"explicit\"\n";

#[test]
fn a_table_reads_as_it_is_written() {
    let text = "path,weight\n\
                h0>leaf-0>spine1>leaf-1>h3,1\n\
                leaf-0>spine0#0>leaf-1,3\n\
                leaf-0>spine0#1>leaf-1,2\n\
                leaf-0>spine1>leaf-1,4294967295\n\
                leaf-1>spine0>leaf-0#1,1\n";
    let (fabric, table) = read("written.csv", text, EXPLICIT).unwrap();
    assert_eq!(table.csv(&fabric), text);
    assert_eq!((table.len(), table.pairs()), (5, 3));
    // Rows of two hosts come before those of their leaves.
    assert_eq!(table.between(&fabric, 0, 3), 0..1);
    assert_eq!(table.between(&fabric, 0, 2), 1..4);
    assert_eq!(table.between(&fabric, 3, 0), 4..5);
    let nodes = |path| {
        let ends = |&port: &u32| &fabric.ports()[port as usize];
        table.ports(path).iter().map(|port| (ends(port).from, ends(port).to)).collect::<Vec<_>>()
    };
    assert_eq!(nodes(0), [(4, 7), (7, 5)]);
    assert_eq!(nodes(4), [(5, 6), (6, 4)]);
    assert_ne!(table.ports(1)[0], table.ports(2)[0], "two links");
    // Spaces, comments, line ends and a missing column of weights.
    let other = "# by hand\r\npath\r\n leaf-0 > spine1 > leaf-1\r\nleaf-1>spine1>leaf-0\r\n";
    let (_, table) = read("spaces.csv", other, EXPLICIT).unwrap();
    assert_eq!((table.len(), table.weight(0)), (2, 1));
}

#[test]
fn what_the_writer_writes_is_all_shortest_paths() {
    let (fabric, _) =
        read("any.csv", "path\nleaf-0>spine1>leaf-1\nleaf-1>spine1>leaf-0\n", EXPLICIT).unwrap();
    let shortest = PathTable::shortest(&fabric, None).unwrap();
    let (_, read_back) = read("shortest.csv", &shortest.csv(&fabric), EXPLICIT).unwrap();
    assert_eq!(read_back, shortest);
    // Three links up from the first leaf, and back.
    assert_eq!((shortest.len(), shortest.pairs()), (6, 2));
    assert_eq!(PathTable::shortest(&fabric, Some(2)).unwrap().len(), 4);
}

#[test]
fn what_is_no_path_is_refused_by_its_line() {
    let back = "leaf-1>spine1>leaf-0";
    for (row, problem) in [
        ("leaf-0>spine1>leaf9", "path: leaf-0>spine1>leaf9: the fabric has no node `leaf9`; did you mean"),
        ("leaf-0>leaf-1", "path: leaf-0>leaf-1: leaf-0 and leaf-1 have no link; leaf-0 has links to spine0"),
        (
            "leaf-0>spine0>leaf-1",
            "path: leaf-0>spine0>leaf-1: 2 parallel links lead from leaf-0 to spine0; number the one that is meant, leaf-0>spine0#0",
        ),
        (
            "leaf-0>spine0#2>leaf-1",
            "path: leaf-0>spine0#2>leaf-1: `leaf-0>spine0#2`: there is no such parallel link",
        ),
        ("leaf-0>spine1", "path: leaf-0>spine1: spine1 has no hosts; write it from leaf to leaf"),
        ("h0>leaf-0>spine1>leaf-1", "path: h0>leaf-0>spine1>leaf-1: joins a host and a switch; write it"),
        ("h0>leaf-0>h1", "path: h0>leaf-0>h1: joins hosts of one leaf"),
        ("leaf-0>h0>leaf-0", "path: leaf-0>h0>leaf-0: visits leaf-0 twice; list a path without a circle"),
        ("leaf-0>spine1>leaf-0", "path: leaf-0>spine1>leaf-0: visits leaf-0 twice"),
        ("leaf-0", "path: leaf-0: is no path; write it from leaf to leaf"),
        (back, "path: leaf-1>spine1>leaf-0: is listed on line 2 already; list it once, with a weight"),
    ] {
        let message = read("wrong.csv", &format!("path\n{back}\n\n{row}\n"), EXPLICIT).unwrap_err();
        assert!(message.starts_with(&format!("wrong.csv:4: {problem}")), "{message}\n{problem}");
    }
    for (text, problem) in [
        (
            "path,weight\nleaf-0>spine1>leaf-1,0\n",
            "weights.csv:2: weight: 0: is no weight; give a whole number from 1",
        ),
        ("path,weight\nleaf-0>spine1>leaf-1,\n", "weights.csv:2: weight: : is no weight"),
        ("path,wieght\nx,1\n", "weights.csv:1: column `wieght` is none of path and weight"),
        ("way\nx\n", "weights.csv:1: the header has no column `path`; begin the file"),
        ("path\n", "weights.csv: no path; begin the file"),
        ("path,weight\nleaf-0>spine1>leaf-1\n", "weights.csv:2: 1 fields where the header has 2"),
    ] {
        let message = read("weights.csv", text, EXPLICIT).unwrap_err();
        assert!(message.starts_with(problem), "{message}\n{problem}");
    }
}

#[test]
fn a_pair_without_a_path_is_refused_by_its_names() {
    let message = read("half.csv", "path\nleaf-0>spine1>leaf-1\n", EXPLICIT).unwrap_err();
    let problem = "s.toml:16: routing.paths.file: it has no path from h2 to h0, between which traffic or its answers go; \
                   add a row for their leaves, leaf-1>...>leaf-0, or for the hosts: nothing else routes";
    assert_eq!(message, problem);
    let whole = "path\nleaf-0>spine1>leaf-1\nleaf-1>spine1>leaf-0\n";
    let message = read("whole.csv", whole, "balance = \"ecmp\"\n").unwrap_err();
    let problem =
        "s.toml:16: routing.paths.file: `ecmp` follows no explicit paths; set routing.balance = \"explicit\"";
    assert!(message.starts_with(problem), "{message}");
    let message = read("whole.csv", whole, "balance = \"explicit\"\nscheme.timeout = \"0 ns\"\n");
    assert!(message.unwrap_err().contains("timeout"));
}
