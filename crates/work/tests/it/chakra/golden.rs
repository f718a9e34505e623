//! Traces of ASTRA-sim, read where they are.

use crate::readers::{end_ps, golden};
use anabranch_work::chakra::{self, Attribute, Context, Setting, Trace};
use anabranch_work::msccl::{self, Buffer};
use std::fmt::Write;

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn attribute(attribute: &Attribute<'_>) -> String {
    let value = match &attribute.value {
        Setting::Whole(7, number) => format!("int32_val: {number}"),
        Setting::Whole(_, number) => format!("int64_val: {number}"),
        Setting::Bool(truth) => format!("bool_val: {truth}"),
        Setting::Bools(truths) => format!("bool_list: {truths:?}"),
        Setting::Text(text) => format!("string_val: \"{}\"", escaped(text)),
        Setting::Other(field) => format!("field {field}"),
    };
    format!("attr {{\n  name: \"{}\"\n  {value}\n}}\n", attribute.name)
}

/// Text that `protoc --decode` prints of a trace, without the lengths of messages.
fn decoded(trace: &Trace<'_>) -> String {
    let mut text = String::new();
    if !trace.metadata.version.is_empty() {
        writeln!(text, "version: \"{}\"", trace.metadata.version).unwrap();
    }
    trace.metadata.attributes.iter().for_each(|own| text.push_str(&attribute(own)));
    for node in &trace.nodes {
        if node.id > 0 {
            writeln!(text, "id: {}", node.id).unwrap();
        }
        let kind = ["", "", "", "", "COMP_NODE", "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE"];
        writeln!(text, "name: \"{}\"\ntype: {}", node.name, kind[node.kind_number as usize]).unwrap();
        node.ctrl_deps.iter().for_each(|id| writeln!(text, "ctrl_deps: {id}").unwrap());
        node.data_deps.iter().for_each(|id| writeln!(text, "data_deps: {id}").unwrap());
        if node.duration_us > 0 {
            writeln!(text, "duration_micros: {}", node.duration_us).unwrap();
        }
        node.attributes.iter().for_each(|own| text.push_str(&attribute(own)));
    }
    text
}

#[test]
fn chakra_files_of_astra_sim_are_read_as_protoc_decodes_them() {
    let Some(folder) = golden().map(|golden| golden.join("astra")) else { return };
    let dump = std::fs::read_to_string(folder.join("et_decoded.txt")).unwrap();
    let mut files = 0;
    for section in dump.split("==== ").skip(1) {
        let (head, body) = section.split_once('\n').unwrap();
        let name = head.split(" (").next().unwrap();
        let expected: String =
            body.lines().filter(|line| !line.starts_with("-- ")).flat_map(|line| [line, "\n"]).collect();
        let content = std::fs::read(folder.join(name)).unwrap();
        let trace = Trace::read(&content, name).unwrap();
        assert_eq!(decoded(&trace).trim_end(), expected.trim_end(), "{name}");
        files += 1;
    }
    assert_eq!(files, 5);
    // The ring as messages of a trace, as XML, and as the house expands it: the same rounds.
    let custom = folder.join("system/custom_ring_allreduce_8npus_1MB");
    let files: Vec<_> = (0..8)
        .map(|rank| {
            let name = format!("custom_allreduce.{rank}.et");
            let content = std::fs::read(custom.join(&name)).unwrap();
            (name, content)
        })
        .collect();
    let graph = chakra::graph(&files, &Context::default()).unwrap();
    let rounds = 14 * (1_000_000 + 10 * 131_072);
    assert_eq!(end_ps(&graph), rounds + 7 * 7_000_000);
    let xml = std::fs::read_to_string(custom.join("custom_allreduce.xml")).unwrap();
    let buffer = Buffer { bytes: 1 << 20, reduce_ps_per_byte: 0.0 };
    assert_eq!(end_ps(&msccl::read(&xml, "ring.xml", buffer).unwrap()), rounds);
}
