//! Techniques with state: distance from the weights, changes, the flow table, and turns.

mod accuracy;
mod changes;
mod flow_table;
mod turns;
