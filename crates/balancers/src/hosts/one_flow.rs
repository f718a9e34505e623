//! The memory of one flow.

use anabranch_split::picks::Flows;

/// A memory of flows that has room for one. Connections come with their slot, so none has to be looked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OneFlow<N>(Option<(u64, u16, N)>);

impl<N: Copy> Flows for OneFlow<N> {
    type Note = N;

    #[inline(always)]
    fn get(&self, flow: u64) -> Option<(u16, N)> {
        self.0.filter(|&(known, ..)| known == flow).map(|(_, member, note)| (member, note))
    }

    #[inline(always)]
    fn upsert<D>(&mut self, flow: u64, decide: D) -> u16
    where
        D: FnOnce(Option<(u16, N)>) -> (u16, N),
    {
        let (member, note) = decide(self.get(flow));
        self.0 = Some((flow, member, note));
        member
    }

    #[inline(always)]
    fn sweep<O, F>(&mut self, _places: usize, over: O, mut freed: F)
    where
        O: Fn(u16, &N) -> bool,
        F: FnMut(u16),
    {
        if let Some((_, member, note)) = self.0
            && over(member, &note)
        {
            self.0 = None;
            freed(member);
        }
    }

    fn len(&self) -> usize {
        usize::from(self.0.is_some())
    }

    fn slots(&self) -> usize {
        1
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
    }
}
