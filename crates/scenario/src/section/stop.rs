//! `[stop]`: when the simulation ends if its flows have not ended before.

use anabranch_form::Form;
use anabranch_form::unit::Time;

/// Time left to flows after the last traffic began: many retransmission timeouts.
const GRACE_PS: u64 = 10_000_000_000_000;

/// The end where none is given: `traffic_end_ps` is when the last flow begins.
pub(crate) fn default_end_ps(traffic_end_ps: u64) -> u64 {
    traffic_end_ps.saturating_add(GRACE_PS).min(i64::MAX as u64)
}

/// The keys; `traffic_end_ps` is when the last flow begins, as far as the file alone says.
pub(crate) fn visit(form: &mut impl Form, end_ps: &mut Option<u64>, traffic_end_ps: u64) {
    let mut at_ps = end_ps.unwrap_or(default_end_ps(traffic_end_ps));
    form.key(
        "at",
        Time,
        &mut at_ps,
        "When the simulation ends, if all flows have not ended before; those that have not are counted as unfinished. \
         The default is 10 s after the last flow begins; where arrivals end after a number, after the time that this \
         number takes on average.",
    );
    if at_ps == 0 {
        form.refuse("at", "`0 s` leaves no time".to_owned(), "give a time such as \"10 s\"".to_owned());
    }
    *end_ps = Some(at_ps);
}
