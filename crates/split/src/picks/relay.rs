//! Relay of news from the receiving end of many paths to the sending end: one path with each packet that returns.
//!
//! Clove's hypervisors relay marks and utilisations like this in their encapsulation (CoNEXT 2017), VMS's virtual
//! switches relay what reached them by each channel. A path with news waits for its turn; news that changes before that
//! is sent once.

use core::marker::PhantomData;

/// Number of paths that can be distinguished: six bits of a [`Tag`], and the bits of a word here.
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
    /// Makes a relay without news, whose values are those of `news`.
    pub const fn new(news: C) -> Self {
        Self { news, fresh: 0, last: 0, value: PhantomData }
    }

    /// Records the news of `path` that `change` makes of the old value, if it makes any. Ignores a path beyond the
    /// table.
    #[inline(always)]
    pub fn hear(&mut self, path: u16, change: impl FnOnce(T) -> Option<T>) {
        if usize::from(path) < PATHS
            && let Some(value) = self.news.as_mut().get_mut(usize::from(path))
            && let Some(changed) = change(*value)
        {
            *value = changed;
            self.fresh |= 1 << path;
        }
    }

    /// Takes the next path with news, in rotation, and the news.
    #[inline(always)]
    pub fn next_news(&mut self) -> Option<(u16, T)> {
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

/// Header of balancers in hosts, in [`crate::Packet::tag`]: the path this packet takes, and news of one path of the
/// other direction.
///
/// Bit 0: whether a host wrote it. 1 to 6: path. 7 to 12: path that the news is about. 13: whether there is news. 14:
/// whether ECN is the balancer's own, to be removed again. 15 to 31: the news, of which the upper 8 bits may instead be
/// the level of the most utilised link that the packet met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Tag(pub u32);

/// Number of bits of [`Tag::news`].
pub const NEWS_BITS: u32 = 17;

const WRITTEN: u32 = 1;
const PATH_MASK: u32 = PATHS as u32 - 1;
const PATH_AT: u32 = 1;
const ABOUT_AT: u32 = 7;
const TOLD: u32 = 1 << 13;
const OWN_ECN: u32 = 1 << 14;
const NEWS_AT: u32 = 15;
const LEVEL_AT: u32 = 24;

impl Tag {
    /// Tag of a packet that takes `path`, without news.
    #[inline(always)]
    #[must_use]
    pub const fn new(path: u16) -> Self {
        Self(WRITTEN | (path as u32 & PATH_MASK) << PATH_AT)
    }

    /// Adds news of `about`, of which [`NEWS_BITS`] bits count. The tag must have no news before.
    #[inline(always)]
    #[must_use]
    pub const fn with_news(self, about: u16, news: u32) -> Self {
        Self(self.0 | (about as u32 & PATH_MASK) << ABOUT_AT | TOLD | news << NEWS_AT)
    }

    /// Records that the packet's ECN capability is the balancer's, not the transport's.
    #[inline(always)]
    #[must_use]
    pub const fn with_own_ecn(self) -> Self {
        Self(self.0 | OWN_ECN)
    }

    /// Records that the packet meets a link of this level.
    #[inline(always)]
    #[must_use]
    pub const fn raised(self, level: u8) -> Self {
        if level > self.level() {
            Self(self.0 & !(0xff << LEVEL_AT) | (level as u32) << LEVEL_AT)
        } else {
            self
        }
    }

    /// Path that the packet took; `None` if no host wrote the tag.
    #[inline(always)]
    #[must_use]
    pub const fn path(self) -> Option<u16> {
        if self.0 & WRITTEN == 0 { None } else { Some((self.0 >> PATH_AT & PATH_MASK) as u16) }
    }

    /// Level of the most utilised link met, in packets whose level is raised.
    #[inline(always)]
    #[must_use]
    pub const fn level(self) -> u8 {
        (self.0 >> LEVEL_AT) as u8
    }

    /// Whether the packet's ECN capability is the balancer's.
    #[inline(always)]
    #[must_use]
    pub const fn own_ecn(self) -> bool {
        self.0 & OWN_ECN != 0
    }

    /// Path of the other direction, and its news.
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
        assert_eq!(relay.next_news(), None);
        for path in [63, 5, 0] {
            relay.hear(path, |count| Some(count + 1));
        }
        relay.hear(5, |count| Some(count + 1));
        assert_eq!([relay.next_news(), relay.next_news()], [Some((5, 2)), Some((63, 1))]);
        // What is news again waits behind the others.
        relay.hear(63, |count| Some(count + 1));
        assert_eq!(
            [relay.next_news(), relay.next_news(), relay.next_news()],
            [Some((0, 1)), Some((63, 2)), None]
        );
        relay.hear(5, |_| None);
        relay.hear(64, |count| Some(count + 1));
        assert_eq!(relay.next_news(), None);
    }

    #[test]
    fn a_tag_holds_two_paths_and_news() {
        let tag = Tag::new(63).with_own_ecn().with_news(42, (1 << NEWS_BITS) - 1);
        assert_eq!((tag.path(), tag.news(), tag.own_ecn()), (Some(63), Some((42, 0x1ffff)), true));
        let silent = Tag::new(7);
        assert_eq!((silent.path(), silent.news(), silent.own_ecn()), (Some(7), None, false));
        assert_eq!(Tag::default().path(), None);
    }

    #[test]
    fn a_tag_keeps_the_highest_level_beside_news_of_eight_bits() {
        let tag = Tag::new(1).with_news(2, 0xff).raised(5).raised(127).raised(9);
        assert_eq!((tag.path(), tag.level()), (Some(1), 127));
        assert_eq!(tag.news().map(|(about, news)| (about, news & 0xff)), Some((2, 0xff)));
    }
}
