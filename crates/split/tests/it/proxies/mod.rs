//! What proxies need of a group: bounded load and slow start.

mod bounded_load;
mod slow_start;
