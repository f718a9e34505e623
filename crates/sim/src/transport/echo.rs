//! A receiver's echo of congestion marks: RFC 3168, section 6.1.3, and DCTCP's own (RFC 8257, section 3.2).

use super::{Control, Tcp};
use crate::marks;

/// Whether acknowledgements carry the echo.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Echo {
    on: bool,
}

impl Echo {
    /// Whether a segment changes DCTCP's state, which wants an acknowledgement at once.
    #[inline(always)]
    pub(super) fn changes(self, tcp: &Tcp, bits: u8) -> bool {
        matches!(tcp.control, Control::Dctcp { .. }) && self.on != (bits & marks::EXPERIENCED != 0)
    }

    /// A segment arrived.
    #[inline(always)]
    pub(super) fn take(&mut self, tcp: &Tcp, bits: u8) {
        let marked = bits & marks::EXPERIENCED != 0;
        self.on = match tcp.control {
            Control::Dctcp { .. } => marked,
            // On from the first mark until the sender says that it reduced its window.
            _ => marked || (self.on && bits & marks::REDUCED == 0),
        };
    }

    /// The bit for an acknowledgement.
    #[inline(always)]
    pub(super) fn mark(self) -> u8 {
        if self.on { marks::ECHO } else { 0 }
    }
}
