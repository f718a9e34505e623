//! Handle of one thread on a group that others change.

use super::sync::Cached;
use super::{Kind, Owned, Planned, Running};

/// Handle of one thread on a [`crate::Group`]: picks one by one, always by the present plan.
///
/// It keeps the plan that it saw last, and so keeps it in memory until its next pick.
pub struct Reader<'g>(Access<'g>);

enum Access<'g> {
    Stateless(Cached<'g, Planned>),
    Stateful(&'g Owned<Running>),
}

impl<'g> Reader<'g> {
    #[inline]
    pub(super) fn new(kind: &'g Kind) -> Self {
        Self(match kind {
            Kind::Stateless(plan) => Access::Stateless(plan.cached()),
            Kind::Stateful(state) => Access::Stateful(state),
        })
    }

    /// Picks the member of one packet of the flow with this key. Techniques that remember flows are locked for it.
    #[inline]
    #[must_use]
    pub fn pick(&mut self, flow: u64) -> u16 {
        match &mut self.0 {
            Access::Stateless(plan) => plan.load().pick(flow),
            Access::Stateful(state) => state.lock().pick(flow),
        }
    }
}
