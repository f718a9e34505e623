//! A controller's plan for a pair of leaves as plain data, in the words of its load balancer: what people and programs
//! read before anything is installed.

use anabranch_fabric::{Fabric, LinkState};
use anabranch_split::PlanError;

/// A controller that plans for a pair of leaves before any packet is sent.
pub trait PairPlanner {
    /// The plan for packets from leaf `from` to another leaf `to`, by their node numbers.
    ///
    /// # Errors
    /// A pair that no path joins, and links that the load balancer cannot plan with.
    fn plan_pair(
        &self,
        fabric: &Fabric,
        links: &LinkState,
        from: u32,
        to: u32,
    ) -> Result<PairPlan, PlanError>;
}

/// A plan for a pair of leaves.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PairPlan {
    /// Values that concern the whole pair.
    pub facts: Vec<PlanFact>,
    /// Tables, in the order in which they are read.
    pub tables: Vec<PlanTable>,
    /// Sentences that a user should read before installing it.
    pub notes: Vec<String>,
}

/// One value of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanFact {
    /// Key for programs; it ends with the unit.
    pub key: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// The value.
    pub value: PlanValue,
    /// How the value comes about, if that is short; empty otherwise.
    pub because: String,
}

/// One table of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanTable {
    /// Key for programs.
    pub key: String,
    /// Title for people.
    pub title: String,
    /// Its columns.
    pub columns: Vec<PlanColumn>,
    /// Its rows, with a value for each column.
    pub rows: Vec<Vec<PlanValue>>,
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanColumn {
    /// Key for programs; it ends with the unit.
    pub key: &'static str,
    /// Heading for people, of one line or two.
    pub heading: String,
    /// Name and heading of each part, if values are lists that fill a column for each of their parts.
    pub parts: Vec<(String, String)>,
}

impl PlanColumn {
    /// A column whose values are single ones.
    pub fn new(key: &'static str, heading: &str) -> Self {
        Self { key, heading: heading.to_owned(), parts: Vec::new() }
    }
}

/// A value of a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanValue {
    /// No value.
    None,
    /// A whole number.
    Whole(i64),
    /// Any other number.
    Number(f64),
    /// A name.
    Name(String),
    /// Values in order.
    List(Vec<PlanValue>),
}

impl PlanValue {
    /// Names in order.
    pub fn names(names: impl IntoIterator<Item = String>) -> Self {
        Self::List(names.into_iter().map(Self::Name).collect())
    }
}

impl From<u64> for PlanValue {
    fn from(value: u64) -> Self {
        Self::Whole(value as i64)
    }
}

impl From<usize> for PlanValue {
    fn from(value: usize) -> Self {
        Self::Whole(value as i64)
    }
}
