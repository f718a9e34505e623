//! Units that also end after a pause, so that the table forgets flows that have ended.

use super::Packet;
use super::byte_deficit::Boundary;
use crate::capability;

/// Boundary that ends a unit where `B` does, and after a pause (Luopan, section 3.2: 1 ms).
#[derive(Clone, Copy, Debug)]
pub struct Idle<B> {
    /// Boundary that ends a unit otherwise.
    pub boundary: B,
    /// Longest pause in nanoseconds.
    pub idle_ns: u64,
}

impl<B: Boundary> Boundary for Idle<B> {
    const NEEDS: u32 = B::NEEDS | capability::CLOCK;
    /// Note of the other boundary, and the time of the last packet in nanoseconds.
    type Note = (B::Note, u64);

    #[inline(always)]
    fn begin(packet: &Packet, now_ns: u64) -> Self::Note {
        (B::begin(packet, now_ns), now_ns)
    }

    #[inline(always)]
    fn go_on(&self, note: Self::Note, packet: &Packet, now_ns: u64) -> Option<Self::Note> {
        if self.is_over(note, now_ns) {
            return None;
        }
        Some((self.boundary.go_on(note.0, packet, now_ns)?, now_ns))
    }

    #[inline(always)]
    fn is_over(&self, (note, last_ns): Self::Note, now_ns: u64) -> bool {
        now_ns.saturating_sub(last_ns) > self.idle_ns || self.boundary.is_over(note, now_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picks::flowcell::Numbered;

    #[test]
    fn a_cell_ends_with_its_number_or_after_the_pause() {
        let cells = Idle { boundary: Numbered, idle_ns: 1_000_000 };
        let packet = |cell| Packet { cell, ..Packet::default() };
        let note = Idle::<Numbered>::begin(&packet(3), 10);
        assert_eq!(cells.go_on(note, &packet(3), 1_000_010), Some((3, 1_000_010)), "the pause is within");
        assert_eq!(cells.go_on(note, &packet(3), 1_000_011), None, "the pause is too long");
        assert_eq!(cells.go_on(note, &packet(2), 20), Some((3, 20)), "what is sent again joins");
        assert_eq!(cells.go_on(note, &packet(4), 20), None, "the next cell");
    }
}
