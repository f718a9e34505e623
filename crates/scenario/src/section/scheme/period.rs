//! Times after which something happens again.

use crate::form::Form;

/// Refuses a period of nothing, which would never let time pass.
pub(super) fn refuse_zero(form: &mut impl Form, key: &str, time_ns: u64) {
    if time_ns == 0 {
        form.refuse(key, "it is zero".to_owned(), "give a time above zero".to_owned());
    }
}
