//! Panics of trials: kept for the report instead of printed.

use crate::broken::Broken;
use std::cell::RefCell;
use std::panic;
use std::panic::AssertUnwindSafe;
use std::sync::Once;

thread_local! {
    static LAST: RefCell<Option<(String, String)>> = const { RefCell::new(None) };
    static QUIET: RefCell<bool> = const { RefCell::new(false) };
}

/// Keeps panics of this thread from now on.
pub(crate) fn keep() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.with(|quiet| *quiet.borrow()) {
                return print(info);
            }
            let place =
                info.location().map_or("somewhere".to_owned(), |at| format!("{}:{}", at.file(), at.line()));
            let payload = info.payload();
            let message = payload
                .downcast_ref::<&str>()
                .copied()
                .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
                .unwrap_or("a panic without a message")
                .to_owned();
            LAST.with(|last| *last.borrow_mut() = Some((place, message)));
        }));
    });
    QUIET.with(|quiet| *quiet.borrow_mut() = true);
}

/// Returns what `act` returns. A panic in it breaks the invariant that there is none, and is named by its position.
pub(crate) fn caught<T>(act: impl FnOnce() -> T) -> Result<T, Broken> {
    panic::catch_unwind(AssertUnwindSafe(act)).map_err(|_| {
        let (place, message) = LAST.with(|last| last.borrow_mut().take()).unwrap_or_default();
        Broken::new(format!("nothing panics ({place})"), message)
    })
}
