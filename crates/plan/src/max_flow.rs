//! Maximum flow between two switches, and of all maximum flows the balanced one (DBB, section III-A).
//!
//! The paper takes whichever maximum flow its linear programme yields. Every maximum flow fills a least cut, so the
//! largest utilisation is 1 in all of them and cannot decide between them; what can is the utilisation of the other
//! links. The balanced flow minimises the sum over all links of bandwidth times utilisation squared: parallel ways
//! carry in proportion to their bandwidth wherever a maximum flow lets them. It is unique, hence the same on every
//! machine.

use crate::divisor::gcd;
use anabranch_split::PlanError;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};
use petgraph::algo::dinics;
use petgraph::graph::{DiGraph, NodeIndex};

/// Accuracy asked of the solver, relative to the largest bandwidth.
const TOLERANCE: f64 = 1e-10;

/// A link of a flow network, one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowLink {
    /// Switch that sends, by any number.
    pub from: u32,
    /// Switch that receives.
    pub to: u32,
    /// Capacity of the link, or the traffic to carry: bits per second, or any other unit that all links
    /// share.
    pub bandwidth: u64,
}

impl FlowLink {
    /// Divides all bandwidths by their greatest common divisor: what is planned from their ratios stays the same.
    pub fn reduce(links: &mut [Self]) {
        let divisor = links.iter().map(|link| link.bandwidth).fold(0, gcd).max(1);
        for link in links {
            link.bandwidth /= divisor;
        }
    }
}

/// Which maximum flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub enum FlowChoice {
    /// The one that loads links most evenly.
    #[default]
    Balanced,
    /// The one that Dinitz's algorithm finds first.
    Any,
}

/// A maximum flow.
#[derive(Clone, Debug, PartialEq)]
pub struct MaxFlow {
    /// Flow from source to sink, in the links' unit.
    pub value: u64,
    /// Flow over each link, as a fraction of [`Self::value`].
    pub shares: Vec<f64>,
}

impl MaxFlow {
    /// The maximum flow of these links, which may be parallel, from switch `source` to switch `sink`.
    ///
    /// # Errors
    /// Links over which nothing can flow.
    pub fn new(links: &[FlowLink], source: u32, sink: u32, choice: FlowChoice) -> Result<Self, PlanError> {
        let mut nodes: Vec<u32> = links.iter().flat_map(|link| [link.from, link.to]).collect();
        nodes.extend([source, sink]);
        nodes.sort_unstable();
        nodes.dedup();
        let index = |node: u32| nodes.partition_point(|&other| other < node);
        let mut graph = DiGraph::<(), u64>::with_capacity(nodes.len(), links.len());
        for _ in &nodes {
            graph.add_node(());
        }
        for link in links {
            let (from, to) = (NodeIndex::new(index(link.from)), NodeIndex::new(index(link.to)));
            graph.add_edge(from, to, link.bandwidth);
        }
        let (value, flows) = dinics(&graph, NodeIndex::new(index(source)), NodeIndex::new(index(sink)));
        if value == 0 || source == sink {
            return Err(PlanError::new(
                format!("flow: nothing can flow from switch {source} to switch {sink}"),
                "ask only for pairs of different switches that a path connects",
            ));
        }
        let shares = match choice {
            FlowChoice::Any => flows.iter().map(|&flow| flow as f64 / value as f64).collect(),
            FlowChoice::Balanced => {
                let network: Vec<(usize, usize, f64)> = links
                    .iter()
                    .map(|link| (index(link.from), index(link.to), link.bandwidth as f64 / value as f64))
                    .collect();
                balance(&network, nodes.len(), index(source), index(sink)).ok_or_else(|| {
                    PlanError::new(
                        format!("flow: no balanced flow found from switch {source} to switch {sink}"),
                        "use flow = any",
                    )
                })?
            }
        };
        Ok(Self { value, shares })
    }
}

/// The flow of one unit over links `(from, to, capacity)` that minimises the sum of flow squared over capacity.
fn balance(links: &[(usize, usize, f64)], nodes: usize, source: usize, sink: usize) -> Option<Vec<f64>> {
    let usable: Vec<usize> = (0..links.len()).filter(|&link| links[link].2 > 0.0).collect();
    let variables = usable.len();
    // Flow is conserved everywhere but at the sink, whose balance follows from the others'; the source adds one unit.
    let row = |node: usize| (node != sink).then(|| node - usize::from(node > sink));
    let equalities = nodes - 1;
    let mut conserved = vec![0.0; equalities];
    conserved[row(source)?] = 1.0;
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let mut entry = |row: usize, column: usize, value: f64| {
        rows.push(row);
        columns.push(column);
        values.push(value);
    };
    let mut bounds = conserved;
    for (column, &link) in usable.iter().enumerate() {
        let (from, to, capacity) = links[link];
        for (node, sign) in [(from, 1.0), (to, -1.0)] {
            if let Some(row) = row(node) {
                entry(row, column, sign);
            }
        }
        entry(equalities + 2 * column, column, 1.0);
        entry(equalities + 2 * column + 1, column, -1.0);
        bounds.extend([capacity, 0.0]);
    }
    let constraints = CscMatrix::new_from_triplets(bounds.len(), variables, rows, columns, values);
    let diagonal: Vec<usize> = (0..variables).collect();
    let curvature: Vec<f64> = usable.iter().map(|&link| 2.0 / links[link].2).collect();
    let objective = CscMatrix::new_from_triplets(variables, variables, diagonal.clone(), diagonal, curvature);
    let settings = DefaultSettings {
        verbose: false,
        tol_gap_abs: TOLERANCE,
        tol_gap_rel: TOLERANCE,
        tol_feas: TOLERANCE,
        ..DefaultSettings::default()
    };
    let cones = [SupportedConeT::ZeroConeT(equalities), SupportedConeT::NonnegativeConeT(2 * variables)];
    let mut solver =
        DefaultSolver::new(&objective, &vec![0.0; variables], &constraints, &bounds, &cones, settings)
            .ok()?;
    solver.solve();
    if !matches!(solver.solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved) {
        return None;
    }
    let mut shares = vec![0.0; links.len()];
    for (&link, &flow) in usable.iter().zip(&solver.solution.x) {
        shares[link] = flow.max(0.0);
    }
    Some(shares)
}
