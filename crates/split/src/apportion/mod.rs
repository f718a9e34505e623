//! Rules that turn weights into the plain data that picks read: one file per rule.

pub mod alias;
pub mod cells;
pub mod cumulative;
pub mod dp_hash;
pub mod gravity;
pub mod linux_resilient;
pub mod maglev;
pub mod min_move;
pub mod niagara;
pub mod quotas;
pub mod reciprocal;
pub mod turns;
pub mod wcmp;
pub mod webster;
