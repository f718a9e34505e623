//! CONGA's header in the 32 bits that travel with a packet: load-balancing tag, congestion extent, and one item of
//! feedback.
//!
//! The paper's fields have 4, 3, 4 and 3 bits (section 3.1); here they have 8, 7, 8 and 7, for up to 256 uplinks and 7
//! bits of level.

const UPLINK_BITS: u32 = 8;
const LEVEL_BITS: u32 = 7;
const LEVEL_AT: u32 = UPLINK_BITS;
const FED_UPLINK_AT: u32 = LEVEL_AT + LEVEL_BITS;
const FED_LEVEL_AT: u32 = FED_UPLINK_AT + UPLINK_BITS;
const FED: u32 = 1 << (FED_LEVEL_AT + LEVEL_BITS);
const PRESENT: u32 = FED << 1;
const LEVEL_MASK: u32 = (1 << LEVEL_BITS) - 1;

/// Largest number of uplinks that a tag distinguishes.
pub const UPLINKS_MAX: usize = 1 << UPLINK_BITS;

/// Item of feedback: news from one leaf to another about one of the other's uplinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// Uplink, as the leaf that receives the item numbers its own (FB_LBTag).
    pub uplink: u8,
    /// Highest level on the path from there (FB_Metric).
    pub level: u8,
}

/// Header of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Uplink by which the packet left its leaf (LBTag).
    pub uplink: u8,
    /// Highest level it met after that (CE).
    pub level: u8,
    /// Feedback for the leaf that the packet goes to.
    pub feedback: Option<Item>,
}

impl Tag {
    /// Packs the header into 32 bits.
    #[inline(always)]
    #[must_use]
    pub const fn pack(self) -> u32 {
        let way = PRESENT | self.uplink as u32 | (self.level as u32 & LEVEL_MASK) << LEVEL_AT;
        match self.feedback {
            None => way,
            Some(Item { uplink, level }) => {
                way | FED | (uplink as u32) << FED_UPLINK_AT | (level as u32 & LEVEL_MASK) << FED_LEVEL_AT
            }
        }
    }

    /// Unpacks the header of a packet; `None` if it has none.
    #[inline(always)]
    #[must_use]
    pub const fn unpack(tag: u32) -> Option<Self> {
        if tag & PRESENT == 0 {
            return None;
        }
        let item =
            Item { uplink: (tag >> FED_UPLINK_AT) as u8, level: (tag >> FED_LEVEL_AT & LEVEL_MASK) as u8 };
        Some(Self {
            uplink: tag as u8,
            level: (tag >> LEVEL_AT & LEVEL_MASK) as u8,
            feedback: if tag & FED == 0 { None } else { Some(item) },
        })
    }
}

/// Raises the congestion extent of a packet that a spine sends on by a link of this level.
#[inline(always)]
#[must_use]
pub const fn raised(tag: u32, level: u8) -> u32 {
    let level = level as u32 & LEVEL_MASK;
    if tag & PRESENT == 0 || tag >> LEVEL_AT & LEVEL_MASK >= level {
        return tag;
    }
    tag & !(LEVEL_MASK << LEVEL_AT) | level << LEVEL_AT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_returns() {
        for (uplink, level) in [(0, 0), (255, 127), (255, 0), (0, 127), (19, 7)] {
            for feedback in [None, Some(Item { uplink: 255 - uplink, level: 127 - level })] {
                let tag = Tag { uplink, level, feedback };
                assert_eq!(Tag::unpack(tag.pack()), Some(tag));
            }
        }
        assert_eq!(Tag::unpack(0), None);
    }

    #[test]
    fn a_level_only_rises_and_only_where_there_is_a_tag() {
        let tag = Tag { uplink: 3, level: 4, feedback: Some(Item { uplink: 200, level: 9 }) };
        let at = |level| Tag::unpack(raised(tag.pack(), level));
        assert_eq!(at(3), Some(tag));
        assert_eq!(at(7), Some(Tag { level: 7, ..tag }));
        assert_eq!(raised(0, 7), 0);
    }
}
