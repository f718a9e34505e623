//! Servers whose accelerators have two ports: one of a network card, and one into the server's scale-up switch.

/// Servers of equal size. Each accelerator is two hosts: number n with the network card, and number n +
/// [`Self::accelerators`] with the scale-up port. Traffic names the first; between two accelerators of a server it goes by
/// the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Servers {
    /// Number of accelerators in all.
    pub accelerators: u32,
    /// Number of accelerators of each server.
    pub per_server: u32,
}

impl Servers {
    /// Server of an accelerator.
    #[must_use]
    pub fn of(self, accelerator: u32) -> u32 {
        accelerator / self.per_server
    }

    /// Hosts between which traffic from one accelerator to another goes.
    #[must_use]
    pub fn ends(self, src: u32, dst: u32) -> (u32, u32) {
        if self.of(src) == self.of(dst) {
            (src + self.accelerators, dst + self.accelerators)
        } else {
            (src, dst)
        }
    }
}
