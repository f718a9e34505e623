//! Members that take no new connections, and connections that stay with them until a deadline.

use crate::argument::{handle, new_handle};
use crate::group::{Group, NO_MEMBER};
use crate::outcome::{Status, answer, refused, status};
use std::sync::Arc;

/// Connections of one thread while members of a group drain, and which of them are new. All packets of a
/// connection go by the same value, as a network card's queues make it.
pub struct Connections {
    connections: anabranch_split::Connections,
    group: Arc<anabranch_split::Group>,
}

/// Drains a member: it takes no new connections, and all connections of the group stay where they are until `until_ns`,
/// as long as their member is up. anabranch_connections_pick tells new from old; all other picks are those of new ones.
/// `now_ns` is the present time by the clock of the deadlines. The member weighs nothing until anabranch_group_undrain,
/// also after the deadline, and later updates leave it draining. Where no other member is up any more it takes new
/// connections after all. For techniques of granularity "stateless".
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_group_drain(
    group: Option<&Group>,
    member: u16,
    now_ns: u64,
    until_ns: u64,
) -> Status {
    status(|| Ok(handle("group", group)?.0.drain(member, now_ns, until_ns)?))
}

/// Ends the drain of a member: it takes connections again, its own slots first.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_group_undrain(group: Option<&Group>, member: u16) -> Status {
    status(|| Ok(handle("group", group)?.0.undrain(member)?))
}

/// Makes the connections of one thread, none yet, of a group that they keep even when it is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_connections_new(
    group: Option<&Group>,
    connections: *mut *mut Connections,
) -> Status {
    let new = || {
        let group = Arc::clone(&handle("group", group)?.0);
        Ok(Connections { connections: anabranch_split::Connections::new(), group })
    };
    // SAFETY: the header says what it has to be.
    status(|| unsafe { new_handle("connections", connections, new) })
}

/// Picks the member of one packet of the connection with this key. `begins`: it is the connection's first packet, as a TCP
/// packet with SYN alone is. `now_ns` is the present time by the clock of the deadlines. UINT16_MAX
/// (ANABRANCH_NO_MEMBER) if there are no connections.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_connections_pick(
    connections: Option<&mut Connections>,
    key: u64,
    begins: bool,
    now_ns: u64,
) -> u16 {
    let Some(Connections { connections, group }) = connections else {
        let _ = answer(|| refused::<()>("connections: NULL", "give a handle that is not freed"));
        return NO_MEMBER;
    };
    answer(|| Ok(connections.pick(group, key, begins, now_ns))).unwrap_or(NO_MEMBER)
}

/// Bytes of what connections remember: new ones while a drain lasts, and 0 after it. 0 if there are none.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_connections_state_bytes(connections: Option<&Connections>) -> usize {
    answer(|| Ok(handle("connections", connections)?.connections.state_bytes())).unwrap_or(0)
}

/// Frees connections, or nothing if it is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_connections_free(connections: Option<Box<Connections>>) {
    let _ = answer(|| {
        drop(connections);
        Ok(())
    });
}
