//! What proxies need of a group: slow start.

mod slow_start;
