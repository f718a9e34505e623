//! Graphs that Python has read from files of other programs: their attributes, understood as those of GraphML are.

use crate::error::AnabranchError;
use anabranch_fabric::topology::LinkSettings;
use anabranch_fabric::topology_file::{AttributeEdge, AttributeGraph, AttributeNode, Attributes, understand};
use pyo3::prelude::*;

/// Name, value and line of each attribute.
type Given = Vec<(String, String, usize)>;

/// Refuses a graph whose attributes are not understood; see `_core.pyi`.
#[pyfunction]
pub(crate) fn check_graph(
    file: &str,
    attributes: Given,
    nodes: Vec<(String, usize, Given)>,
    edges: Vec<(String, String, bool, usize, Given)>,
) -> PyResult<()> {
    let given = |given: Given| {
        Attributes::of(given.into_iter().map(|(name, text, line)| (name.into(), text.into(), line)))
    };
    let nodes = nodes.into_iter().map(|(id, at, attributes)| AttributeNode {
        id: id.into(),
        attributes: given(attributes),
        at,
    });
    let edges = edges.into_iter().map(|(source, target, directed, at, attributes)| AttributeEdge {
        source: source.into(),
        target: target.into(),
        directed,
        attributes: given(attributes),
        at,
    });
    let graph =
        AttributeGraph { attributes: given(attributes), nodes: nodes.collect(), edges: edges.collect() };
    match understand(&graph, file, &LinkSettings::default()) {
        Ok(_) => Ok(()),
        Err(error) => Err(AnabranchError::new_err(error.to_string())),
    }
}
