//! Times after which something happens again.

use crate::Keys;

/// Refuses a period of nothing, which would never let time pass.
pub fn refuse_zero(form: &mut impl Keys, key: &str, time_ns: u64) {
    if time_ns == 0 {
        form.refuse(key, "it is zero".to_owned(), "give a time above zero".to_owned());
    }
}
