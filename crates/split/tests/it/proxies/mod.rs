//! What proxies need of a group: draining, bounded load and slow start.

mod bounded_load;
mod draining;
mod slow_start;
