//! What the receiving end of many paths tells the sending end: news of one path with each packet that goes back.
//!
//! Clove's hypervisors carry marks and utilisations so in their encapsulation (CoNEXT 2017), VMS's virtual switches what
//! reached them by each channel. A path with news waits its turn; what is news again before that is told once.

use core::marker::PhantomData;

/// Paths that can be told apart: six bits of [`Tag`], and the bits of a word here.
pub const PATHS: usize = 64;

/// News by path, the values in `C`.
#[derive(Clone, Debug, Default)]
pub struct Relay<T, C> {
    news: C,
    fresh: u64,
    last: u32,
    value: PhantomData<T>,
}

impl<T: Copy, C: AsRef<[T]> + AsMut<[T]>> Relay<T, C> {
    /// Nothing heard yet, the values being those of `news`.
    pub const fn new(news: C) -> Self {
        Self { news, fresh: 0, last: 0, value: PhantomData }
    }

    /// What `path` has come to, as `change` makes it of what it was. A path that has no place is ignored.
    #[inline(always)]
    pub fn hear(&mut self, path: u16, change: impl FnOnce(T) -> T) {
        if usize::from(path) < PATHS
            && let Some(value) = self.news.as_mut().get_mut(usize::from(path))
        {
            *value = change(*value);
            self.fresh |= 1 << path;
        }
    }

    /// The next path with news, in rotation, and the news.
    #[inline(always)]
    pub fn tell(&mut self) -> Option<(u16, T)> {
        if self.fresh == 0 {
            return None;
        }
        // The first set bit above the last path told, or the first of all.
        let turned = self.fresh.rotate_right(self.last + 1);
        let path = (turned.trailing_zeros() + self.last + 1) % PATHS as u32;
        self.fresh &= !(1 << path);
        self.last = path;
        self.news.as_ref().get(path as usize).map(|&value| (path as u16, value))
    }
}

/// [`crate::Packet::tag`] of schemes at the edge: the path this packet takes, and news of one path of the other
/// direction.
///
/// Bits 0 to 5: path. 6 to 11: path that the news is about. 12: whether there is news. 13: whether ECN is the edge's own,
/// to be taken off again. 14 to 31: the news.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Tag(pub u32);

/// Bits of [`Tag::news`].
pub const NEWS_BITS: u32 = 18;

const PATH_MASK: u32 = PATHS as u32 - 1;
const NEWS_AT: u32 = 14;
const ABOUT_AT: u32 = 6;
const TOLD: u32 = 1 << 12;
const OWN_ECN: u32 = 1 << 13;

impl Tag {
    /// A packet that takes `path` and tells nothing.
    #[inline(always)]
    #[must_use]
    pub const fn new(path: u16) -> Self {
        Self(path as u32 & PATH_MASK)
    }

    /// Adds news of `about`, of which [`NEWS_BITS`] bits count.
    #[inline(always)]
    #[must_use]
    pub const fn telling(self, about: u16, news: u32) -> Self {
        Self(self.0 & (PATH_MASK | OWN_ECN) | (about as u32 & PATH_MASK) << ABOUT_AT | TOLD | news << NEWS_AT)
    }

    /// Says that the packet's ECN capability is the edge's, not the transport's.
    #[inline(always)]
    #[must_use]
    pub const fn with_own_ecn(self) -> Self {
        Self(self.0 | OWN_ECN)
    }

    /// The path the packet took.
    #[inline(always)]
    #[must_use]
    pub const fn path(self) -> u16 {
        (self.0 & PATH_MASK) as u16
    }

    /// Whether the packet's ECN capability is the edge's.
    #[inline(always)]
    #[must_use]
    pub const fn own_ecn(self) -> bool {
        self.0 & OWN_ECN != 0
    }

    /// A path of the other direction and the news of it.
    #[inline(always)]
    #[must_use]
    pub const fn news(self) -> Option<(u16, u32)> {
        if self.0 & TOLD == 0 {
            return None;
        }
        Some(((self.0 >> ABOUT_AT & PATH_MASK) as u16, self.0 >> NEWS_AT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_is_told_in_rotation_and_once() {
        let mut relay = Relay::<u8, _>::new([0; 64]);
        assert_eq!(relay.tell(), None);
        for path in [63, 5, 0] {
            relay.hear(path, |count| count + 1);
        }
        relay.hear(5, |count| count + 1);
        assert_eq!([relay.tell(), relay.tell()], [Some((5, 2)), Some((63, 1))]);
        // What is news again waits behind the others.
        relay.hear(63, |count| count + 1);
        assert_eq!([relay.tell(), relay.tell(), relay.tell()], [Some((0, 1)), Some((63, 2)), None]);
        relay.hear(64, |count| count + 1);
        assert_eq!(relay.tell(), None);
    }

    #[test]
    fn a_tag_holds_two_paths_and_news() {
        let tag = Tag::new(63).with_own_ecn().telling(42, (1 << NEWS_BITS) - 1);
        assert_eq!((tag.path(), tag.news(), tag.own_ecn()), (63, Some((42, 0x3ffff)), true));
        let silent = Tag::new(7);
        assert_eq!((silent.path(), silent.news(), silent.own_ecn()), (7, None, false));
    }
}
