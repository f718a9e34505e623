//! Outcome of a call: its status, and the message of the last one that failed.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Outcome of a call.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Everything was done.
    Ok = 0,
    /// Nothing was done: an argument, a file or a value is refused. A network whose simulation fails is closed.
    Error = 1,
    /// Nothing was done: the plan does not decide what was asked for, the traffic does.
    Undecided = 2,
    /// A defect of the library. Free the handle, and report the message.
    Defect = 3,
    /// Nothing was done but to write a length: give room for so many values, and call again.
    Room = 4,
}

/// Reason why a call did not do its work.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) message: String,
}

impl<E: Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self { status: Status::Error, message: error.to_string() }
    }
}

/// Refuses an argument; `problem` names it.
pub(crate) fn refused<T>(problem: &str, hint: &str) -> Result<T, Failure> {
    Err(Failure { status: Status::Error, message: format!("{problem}; {hint}") })
}

thread_local! {
    /// Message of this thread's last call that failed.
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// Runs a call whose panics end here.
pub(crate) fn answer<T>(call: impl FnOnce() -> Result<T, Failure>) -> Result<T, Status> {
    let failure = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(failure)) => failure,
        Err(panic) => Failure { status: Status::Defect, message: format!("a defect: {}", reason(&*panic)) },
    };
    let text = CString::new(failure.message.replace('\0', "\\0")).unwrap_or_default();
    // Where the thread is ending there is nobody to read it.
    let _ = LAST_ERROR.try_with(|last| last.replace(text));
    Err(failure.status)
}

/// Runs a call that has no other answer than its status.
pub(crate) fn status(call: impl FnOnce() -> Result<(), Failure>) -> Status {
    answer(call).err().unwrap_or(Status::Ok)
}

/// Text of a panic.
fn reason(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it has no message")
}

/// Message of the last call of this thread that failed, UTF-8; empty if none has. It is there until the thread's next
/// call that fails. Free nothing.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_last_error() -> *const c_char {
    LAST_ERROR.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// Version of the library, as in "0.2.0".
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => c"",
        };
    VERSION.as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last() -> String {
        // SAFETY: the library's own text, which lasts until the next failure.
        unsafe { CStr::from_ptr(anabranch_last_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn panics_end_here_and_messages_belong_to_a_thread() {
        assert_eq!(last(), "");
        assert_eq!(status(|| panic!("out of {}", 7)), Status::Defect);
        assert_eq!(last(), "a defect: out of 7");
        assert_eq!(status(|| refused("a\0b", "none")), Status::Error);
        assert_eq!(last(), "a\\0b; none");
        assert_eq!(status(|| Ok(())), Status::Ok);
        assert_eq!(std::thread::scope(|scope| scope.spawn(last).join().unwrap()), "");
        assert_eq!(last(), "a\\0b; none");
    }
}
