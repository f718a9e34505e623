//! Handle of one thread on a group.

use crate::argument::{handle, new_handle};
use crate::group::{Group, NO_MEMBER};
use crate::outcome::{Status, answer, refused, status};
use std::mem::transmute;
use std::sync::Arc;

/// Handle of one thread on a group, for picks one by one: it keeps the plan that it saw last and looks at each pick
/// whether there is another.
pub struct Reader {
    /// Dropped before the group, which it refers to.
    reader: anabranch_split::Reader<'static>,
    _group: Arc<anabranch_split::Group>,
}

/// Makes a reader of a group, which the reader keeps even when it is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_reader_new(group: Option<&Group>, reader: *mut *mut Reader) -> Status {
    let new = || {
        let group = Arc::clone(&handle("group", group)?.0);
        // SAFETY: it refers to what `_group` keeps where it is, and fields are dropped in their order.
        let reader = unsafe {
            transmute::<anabranch_split::Reader<'_>, anabranch_split::Reader<'static>>(group.reader())
        };
        Ok(Reader { reader, _group: group })
    };
    // SAFETY: the header says what it has to be.
    status(|| unsafe { new_handle("reader", reader, new) })
}

/// Picks as anabranch_group_pick does, and always by the present plan. UINT16_MAX (ANABRANCH_NO_MEMBER) if there is no
/// reader.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_reader_pick(reader: Option<&mut Reader>, key: u64) -> u16 {
    let Some(reader) = reader else {
        let _ = answer(|| refused::<()>("reader: NULL", "give a handle that is not freed"));
        return NO_MEMBER;
    };
    answer(|| Ok(reader.reader.pick(key))).unwrap_or(NO_MEMBER)
}

/// Frees a reader, or nothing if it is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_reader_free(reader: Option<Box<Reader>>) {
    let _ = answer(|| {
        drop(reader);
        Ok(())
    });
}
