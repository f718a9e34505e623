//! Arguments from C: handles, arrays, texts, and what results are written to.

use crate::outcome::{Failure, Status, refused};
use std::ffi::{CStr, c_char};
use std::mem::{self, MaybeUninit};
use std::ptr;
use std::slice;

/// Refuses NULL where a handle is due.
pub(crate) fn handle<'a, T>(name: &str, handle: Option<&'a T>) -> Result<&'a T, Failure> {
    handle.map_or_else(|| refused(&format!("{name}: NULL"), "give a handle that is not freed"), Ok)
}

/// Refuses a pointer and a length that cannot be an array.
fn check<T>(name: &str, pointer: *const T, len: usize) -> Result<(), Failure> {
    if pointer.is_null() {
        return refused(&format!("{name}: NULL"), "give a pointer, or a length of 0 where there is one");
    }
    if !pointer.is_aligned() {
        return refused(
            &format!("{name}: {pointer:p} is not aligned"),
            "give a pointer to the header's type",
        );
    }
    if len > isize::MAX as usize / mem::size_of::<T>().max(1) {
        return refused(&format!("{name}: {len} values"), "memory has no room for them: give the length");
    }
    Ok(())
}

/// Array that C reads no more and no less of than `len` values; NULL is an array of none.
///
/// # Safety
/// `pointer` has `len` values that nobody changes meanwhile.
pub(crate) unsafe fn array<'a, T>(name: &str, pointer: *const T, len: usize) -> Result<&'a [T], Failure> {
    if len == 0 {
        return Ok(&[]);
    }
    check(name, pointer, len)?;
    // SAFETY: it is not NULL, aligned, of a length that memory can have, and the caller's to read.
    Ok(unsafe { slice::from_raw_parts(pointer, len) })
}

/// Array that may be left out, by NULL.
///
/// # Safety
/// As [`array`].
pub(crate) unsafe fn optional_array<'a, T>(
    name: &str,
    pointer: *const T,
    len: usize,
) -> Result<Option<&'a [T]>, Failure> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    unsafe { array(name, pointer, len) }.map(Some)
}

/// Array that is written.
///
/// # Safety
/// `pointer` has `len` initialised values that nobody else uses meanwhile.
pub(crate) unsafe fn array_mut<'a, T>(
    name: &str,
    pointer: *mut T,
    len: usize,
) -> Result<&'a mut [T], Failure> {
    if len == 0 {
        return Ok(&mut []);
    }
    check(name, pointer, len)?;
    // SAFETY: it is not NULL, aligned, of a length that memory can have, and the caller's alone.
    Ok(unsafe { slice::from_raw_parts_mut(pointer, len) })
}

/// Variable that a result is written to.
///
/// # Safety
/// `pointer` is NULL or a `T`, initialised or not, that nobody else uses meanwhile.
pub(crate) unsafe fn result<'a, T>(name: &str, pointer: *mut T) -> Result<&'a mut MaybeUninit<T>, Failure> {
    check(name, pointer, 1)?;
    // SAFETY: it is not NULL, aligned, and the caller's alone; it may be without a value.
    Ok(unsafe { &mut *pointer.cast() })
}

/// Writes how many values a result has, and the values if `room` is enough for them.
///
/// # Safety
/// `pointer` has room for `room` values, initialised or not, that nobody else uses meanwhile; `len` as in [`result`].
pub(crate) unsafe fn values<T: Copy>(
    name: &str,
    pointer: *mut T,
    room: usize,
    len: *mut usize,
    values: &[T],
) -> Result<(), Failure> {
    // SAFETY: the caller's promise.
    let len = unsafe { result("len", len) }?;
    if room > 0 {
        check(name, pointer, room)?;
    }
    len.write(values.len());
    if values.len() > room {
        let message =
            format!("{name}: room for {room} values of {}; give so much and call again", values.len());
        return Err(Failure { status: Status::Room, message });
    }
    if !values.is_empty() {
        // SAFETY: it is not NULL, aligned, the caller's alone, and has room for at least as many.
        unsafe { ptr::copy_nonoverlapping(values.as_ptr(), pointer, values.len()) };
    }
    Ok(())
}

/// Writes a new handle, or NULL if there is none.
///
/// # Safety
/// As [`result`].
pub(crate) unsafe fn new_handle<T>(
    name: &str,
    pointer: *mut *mut T,
    new: impl FnOnce() -> Result<T, Failure>,
) -> Result<(), Failure> {
    // SAFETY: the caller's promise.
    let handle = unsafe { result(name, pointer) }?;
    handle.write(ptr::null_mut());
    handle.write(Box::into_raw(Box::new(new()?)));
    Ok(())
}

/// Text that ends with a zero byte.
///
/// # Safety
/// `pointer` is NULL or such a text, which nobody changes meanwhile.
pub(crate) unsafe fn text<'a>(name: &str, pointer: *const c_char) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return refused(&format!("{name}: NULL"), "give a text that ends with a zero byte");
    }
    // SAFETY: it is not NULL, and the caller's to read.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().or_else(|_| refused(&format!("{name}: {text:?}"), "give a text in UTF-8"))
}

/// Settings, each `key=value`.
///
/// # Safety
/// As [`array`] and [`text`].
pub(crate) unsafe fn pairs(
    name: &str,
    pointer: *const *const c_char,
    len: usize,
) -> Result<Vec<(String, String)>, Failure> {
    // SAFETY: the caller's promise.
    let texts = unsafe { array(name, pointer, len) }?;
    let pair = |&pointer: &*const c_char| {
        // SAFETY: the caller's promise.
        let text = unsafe { text(name, pointer) }?;
        match text.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
            None => refused(&format!("{name}: {text}: no `=`"), "write key=value"),
        }
    };
    texts.iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message<T>(result: Result<T, Failure>) -> String {
        result.err().unwrap().message
    }

    #[test]
    fn what_cannot_be_an_array_is_refused() {
        let numbers = [1_u32, 2, 3];
        let (null, odd) = (ptr::null::<u32>(), numbers.as_ptr().wrapping_byte_add(1));
        // SAFETY: `numbers` has three values, and what cannot be read is refused before it is read.
        unsafe {
            assert_eq!(array("n", numbers.as_ptr(), 3).unwrap(), numbers);
            assert!(array("n", null, 0).unwrap().is_empty());
            assert_eq!(optional_array("n", null, 3).unwrap(), None);
            assert!(message(array("n", null, 3)).starts_with("n: NULL; "));
            assert!(message(array("n", odd, 1)).contains("is not aligned"));
            assert!(message(array("n", numbers.as_ptr(), usize::MAX / 2)).contains("no room"));
            assert!(message(array_mut("n", odd.cast_mut(), 1)).contains("is not aligned"));
            assert!(message(result("n", null.cast_mut())).contains("NULL"));
        }
    }

    #[test]
    fn a_result_that_does_not_fit_is_counted_and_not_written() {
        let (mut written, mut len) = ([9_u16; 3], 77);
        let pointer = written.as_mut_ptr();
        // SAFETY: `written` has three values, and what cannot be written is refused before it is.
        unsafe {
            let write = |pointer, room, len| values("n", pointer, room, len, &[1, 2]);
            let failure = write(pointer, 1, &raw mut len).unwrap_err();
            assert_eq!(failure.status, Status::Room);
            assert_eq!(failure.message, "n: room for 1 values of 2; give so much and call again");
            assert_eq!((len, *pointer), (2, 9));
            assert_eq!(write(ptr::null_mut(), 0, &raw mut len).unwrap_err().status, Status::Room);
            assert!(message(write(pointer, 3, ptr::null_mut())).starts_with("len: NULL; "));
            assert!(message(write(ptr::null_mut(), 2, &raw mut len)).starts_with("n: NULL; "));
            assert!(message(write(pointer.wrapping_byte_add(1), 2, &raw mut len)).contains("is not aligned"));
            write(pointer, 3, &raw mut len).unwrap();
            values("n", ptr::null_mut::<u8>(), 0, &raw mut len, &[]).unwrap();
        }
        assert_eq!((written, len), ([1, 2, 9], 0));
    }

    #[test]
    fn texts_are_utf_8_and_settings_have_a_value() {
        // SAFETY: texts that end with a zero byte.
        unsafe {
            assert_eq!(text("t", c"seed".as_ptr()).unwrap(), "seed");
            assert!(message(text("t", c"\xff".as_ptr())).contains("UTF-8"));
            assert!(message(text("t", ptr::null())).contains("NULL"));
            let given = [c"a=1".as_ptr(), c"b.c=d=e".as_ptr()];
            let read = pairs("p", given.as_ptr(), 2).unwrap();
            assert_eq!(read, [("a", "1"), ("b.c", "d=e")].map(|(k, v)| (k.to_owned(), v.to_owned())));
            let bare = [c"a=1".as_ptr(), c"a".as_ptr()];
            assert_eq!(message(pairs("p", bare.as_ptr(), 2)), "p: a: no `=`; write key=value");
            let none = [ptr::null()];
            assert!(message(pairs("p", none.as_ptr(), 1)).contains("NULL"));
        }
    }

    #[test]
    fn a_handle_that_cannot_be_made_is_null() {
        let mut handle = ptr::dangling_mut::<u64>();
        // SAFETY: a variable of this function.
        let failure = unsafe { new_handle("h", &raw mut handle, || refused("no", "hint")) };
        assert_eq!(message(failure), "no; hint");
        assert!(handle.is_null());
    }
}
