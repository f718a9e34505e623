//! Flows that the engine holds: from shortly before they begin until nothing can change their records any more.

use crate::{FlowRecord, FlowSink, SimulationError};
use anabranch_split::prefetch::prefetch;
use anabranch_traffic::{Flow, FlowSource, Start};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Flows of a chunk: 2 to this power.
pub(super) const CHUNK_BITS: u32 = 12;

/// A chunk is released when at most one of this many of its flows is open: what is held is at most so many times what is
/// open.
const HELD_PER_OPEN: usize = 16;

/// Flows of consecutive numbers, loaded together.
struct Chunk {
    flows: Vec<Flow>,
    records: Vec<FlowRecord>,
    /// What each flow's application had received when it began to count. Empty if it always did.
    omitted: Vec<u64>,
    /// Whether the record of each flow may still change, and how many are so.
    is_open: Vec<bool>,
    open: usize,
}

impl Chunk {
    fn new(flows: Vec<Flow>) -> Self {
        let (records, is_open) = (vec![FlowRecord::blank(); flows.len()], vec![true; flows.len()]);
        Self { open: flows.len(), flows, records, is_open, omitted: Vec::new() }
    }

    /// The records, without what was received before it counted.
    fn counted(&mut self) -> &[FlowRecord] {
        for (record, omitted) in self.records.iter_mut().zip(self.omitted.drain(..)) {
            record.received_bytes -= omitted;
        }
        &self.records
    }
}

/// A flow that is open after its chunk was released.
struct Straggler {
    flow: Flow,
    record: FlowRecord,
    omitted: u64,
}

impl Straggler {
    fn counted(mut self) -> FlowRecord {
        self.record.received_bytes -= self.omitted;
        self.record
    }
}

/// Flows of a simulation by number, in chunks that are loaded as their flows come due and released when most of their
/// flows have ended.
pub(crate) struct FlowTable<'a> {
    coming: Box<dyn Iterator<Item = Flow> + 'a>,
    chunk_bits: u32,
    /// Chunks that are loaded, from number `released` on; `None` for those that are released.
    chunks: VecDeque<Option<Chunk>>,
    released: usize,
    /// Flows that have been loaded.
    loaded: usize,
    total: usize,
    stragglers: HashMap<u32, Straggler>,
    /// Stragglers that have ended since the last release.
    ended: Vec<(u32, FlowRecord)>,
    /// Flows that are held open, and whether they have ended otherwise.
    held_ends: FxHashMap<u32, bool>,
    /// Flows whose records somebody wants when they end, and those of them that have ended.
    wanted: FxHashSet<u32>,
    wanted_ended: Vec<(u32, FlowRecord)>,
    /// Whether received payload does not count yet: until then no record is final.
    omits: bool,
    /// Records of flows that are released, if no sink takes them.
    kept: Vec<FlowRecord>,
    sink: Option<Arc<dyn FlowSink>>,
}

impl<'a> FlowTable<'a> {
    /// A table of the flows of `source`, none of which is loaded. `omits` says whether [`Self::omit`] may come.
    pub(super) fn new(source: &'a dyn FlowSource, total: usize, omits: bool, chunk_bits: u32) -> Self {
        Self {
            coming: source.pass(),
            chunk_bits,
            chunks: VecDeque::new(),
            released: 0,
            loaded: 0,
            total,
            stragglers: HashMap::new(),
            ended: Vec::new(),
            held_ends: FxHashMap::default(),
            wanted: FxHashSet::default(),
            wanted_ended: Vec::new(),
            omits,
            kept: Vec::new(),
            sink: None,
        }
    }

    /// Lets `sink` take the records, if there is one. To be called before flows end.
    pub(super) fn send_to(&mut self, sink: Option<Arc<dyn FlowSink>>) {
        self.sink = sink;
    }

    /// Flows that are not loaded yet.
    pub(super) fn left(&self) -> usize {
        self.total - self.loaded
    }

    /// Number of flows that have been loaded.
    pub(super) fn loaded(&self) -> u32 {
        self.loaded as u32
    }

    /// Whether a flow is the last that is loaded, and others follow.
    pub(super) fn is_last_loaded(&self, flow: u32) -> bool {
        flow as usize + 1 == self.loaded && self.left() > 0
    }

    /// Loads the next chunk, and releases others of which most flows have ended. Returns the flows of the new one that begin
    /// at a time, each with its start in picoseconds.
    ///
    /// # Errors
    /// Records that the sink cannot take.
    pub(super) fn load(&mut self) -> Result<impl Iterator<Item = (u64, u32)> + '_, SimulationError> {
        self.release()?;
        let first = self.loaded as u32;
        let flows: Vec<Flow> = self.coming.by_ref().take(1 << self.chunk_bits).collect();
        self.loaded += flows.len();
        let starts = |(number, flow): (u32, &Flow)| match flow.start {
            Start::At(at_ps) => Some((at_ps, number)),
            Start::After { .. } | Start::AfterJob { .. } | Start::Ready { .. } => None,
        };
        self.chunks.push_back(Some(Chunk::new(flows)));
        let loaded = self.chunks.back().and_then(Option::as_ref).map_or(&[][..], |chunk| &chunk.flows);
        Ok((first..).zip(loaded).filter_map(starts))
    }

    /// Adds a flow behind all others, which are loaded, and returns its number. Where it begins a chunk, releases others of
    /// which most flows have ended.
    ///
    /// # Errors
    /// Records that the sink cannot take.
    pub(super) fn append(&mut self, flow: Flow) -> Result<u32, SimulationError> {
        debug_assert_eq!(self.left(), 0, "all flows are loaded");
        let number = self.loaded;
        if number & ((1 << self.chunk_bits) - 1) == 0 {
            self.release()?;
            self.chunks.push_back(Some(Chunk::new(Vec::with_capacity(1 << self.chunk_bits))));
        }
        let chunk = self.chunks.back_mut().and_then(Option::as_mut).expect("the last chunk has room");
        chunk.flows.push(flow);
        chunk.records.push(FlowRecord::blank());
        chunk.is_open.push(true);
        chunk.open += 1;
        self.loaded += 1;
        self.total += 1;
        Ok(number as u32)
    }

    /// Position of a flow: its chunk among those that are loaded, and its place there.
    #[inline(always)]
    fn position(&self, flow: u32) -> (usize, usize) {
        let (flow, mask) = (flow as usize, (1 << self.chunk_bits) - 1);
        ((flow >> self.chunk_bits).wrapping_sub(self.released), flow & mask)
    }

    #[inline(always)]
    fn chunk(&self, flow: u32) -> Option<(&Chunk, usize)> {
        let (chunk, place) = self.position(flow);
        Some((self.chunks.get(chunk)?.as_ref()?, place))
    }

    /// A flow that is loaded and has not ended.
    #[inline(always)]
    pub(super) fn flow(&self, flow: u32) -> &Flow {
        match self.chunk(flow) {
            Some((chunk, place)) => &chunk.flows[place],
            None => &self.stragglers[&flow].flow,
        }
    }

    /// Record of a flow that is loaded and has not ended.
    #[inline(always)]
    pub(super) fn record(&mut self, flow: u32) -> &mut FlowRecord {
        let (chunk, place) = self.position(flow);
        match self.chunks.get_mut(chunk) {
            Some(Some(chunk)) => &mut chunk.records[place],
            _ => &mut self.stragglers.get_mut(&flow).expect("a flow that has not ended is held").record,
        }
    }

    /// Fetches what the start of a flow will need, if it is loaded.
    #[inline(always)]
    pub(super) fn prefetch(&self, flow: u32) {
        if let Some((chunk, place)) = self.chunk(flow) {
            prefetch(chunk.flows.as_ptr().wrapping_add(place));
            prefetch(chunk.records.as_ptr().wrapping_add(place));
        }
    }

    /// Fetches the record of a flow, if it is in a chunk.
    #[inline(always)]
    pub(super) fn prefetch_record(&self, flow: u32) {
        if let Some((chunk, place)) = self.chunk(flow) {
            prefetch(chunk.records.as_ptr().wrapping_add(place));
        }
    }

    /// Lets a flow be open until [`Self::release_end`], even if all else says that it has ended.
    pub(super) fn hold_end(&mut self, flow: u32) {
        self.held_ends.insert(flow, false);
    }

    /// Lets a flow end, if it has.
    pub(super) fn release_end(&mut self, flow: u32) {
        if self.held_ends.remove(&flow) == Some(true) {
            self.end(flow);
        }
    }

    /// Keeps the record of a flow when it ends, for [`Self::take_ended`].
    pub(super) fn want_end(&mut self, flow: u32) {
        self.wanted.insert(flow);
    }

    /// Records that were wanted of flows that have ended since the last call.
    pub(super) fn take_ended(&mut self) -> Vec<(u32, FlowRecord)> {
        std::mem::take(&mut self.wanted_ended)
    }

    /// A flow has ended: nothing will change its record or ask for it.
    pub(super) fn end(&mut self, flow: u32) {
        if let Some(has_ended) = self.held_ends.get_mut(&flow) {
            *has_ended = true;
            return;
        }
        if self.wanted.remove(&flow) {
            let record = *self.record(flow);
            self.wanted_ended.push((flow, record));
        }
        let (chunk, place) = self.position(flow);
        if let Some(Some(chunk)) = self.chunks.get_mut(chunk) {
            chunk.open -= usize::from(std::mem::replace(&mut chunk.is_open[place], false));
        } else if let Some(straggler) = self.stragglers.remove(&flow) {
            self.ended.push((flow, straggler.counted()));
        }
    }

    /// What applications have received so far counts no longer.
    pub(super) fn omit(&mut self) {
        self.omits = false;
        for chunk in self.chunks.iter_mut().flatten() {
            chunk.omitted = chunk.records.iter().map(|record| record.received_bytes).collect();
        }
    }

    /// Releases chunks of which few flows are open, and stragglers that have ended.
    fn release(&mut self) -> Result<(), SimulationError> {
        if self.omits {
            return Ok(());
        }
        for index in 0..self.chunks.len() {
            let few_open = |chunk: &mut Chunk| chunk.open * HELD_PER_OPEN <= chunk.flows.len();
            if let Some(chunk) = self.chunks[index].take_if(few_open) {
                self.release_chunk((self.released + index) << self.chunk_bits, chunk)?;
            }
        }
        while self.chunks.front().is_some_and(Option::is_none) {
            self.chunks.pop_front();
            self.released += 1;
        }
        for (flow, record) in std::mem::take(&mut self.ended) {
            self.write(flow as usize, &[record])?;
        }
        Ok(())
    }

    /// Writes the records of a chunk. Flows that are open are stragglers from now on, whose records are written again.
    fn release_chunk(&mut self, first: usize, mut chunk: Chunk) -> Result<(), SimulationError> {
        for place in (0..chunk.flows.len()).filter(|&place| chunk.is_open[place]) {
            let omitted = chunk.omitted.get(place).copied().unwrap_or(0);
            let straggler = Straggler { flow: chunk.flows[place], record: chunk.records[place], omitted };
            self.stragglers.insert((first + place) as u32, straggler);
        }
        self.write(first, chunk.counted())
    }

    /// Writes all records that are not written yet, final or not. Returns those that no sink took, by flow.
    pub(super) fn finish(mut self) -> Result<Vec<FlowRecord>, SimulationError> {
        self.omits = false;
        for (index, chunk) in std::mem::take(&mut self.chunks).into_iter().enumerate() {
            if let Some(mut chunk) = chunk {
                self.write((self.released + index) << self.chunk_bits, chunk.counted())?;
            }
        }
        self.release()?;
        for (flow, straggler) in std::mem::take(&mut self.stragglers) {
            self.write(flow as usize, &[straggler.counted()])?;
        }
        let blank = vec![FlowRecord::blank(); self.left().min(1 << self.chunk_bits)];
        while self.left() > 0 {
            let count = self.left().min(blank.len());
            self.write(self.loaded, &blank[..count])?;
            self.loaded += count;
        }
        Ok(self.kept)
    }

    fn write(&mut self, first: usize, records: &[FlowRecord]) -> Result<(), SimulationError> {
        if let Some(sink) = &self.sink {
            return sink
                .write(first as u32, records)
                .map_err(|error| SimulationError::records_unwritten(&error));
        }
        if self.kept.capacity() == 0 {
            self.kept.reserve_exact(self.total);
        }
        if first > self.kept.len() {
            self.kept.resize(first, FlowRecord::blank());
        }
        // Most come in order, and are written once.
        let known = (self.kept.len() - first).min(records.len());
        self.kept[first..first + known].copy_from_slice(&records[..known]);
        self.kept.extend_from_slice(&records[known..]);
        Ok(())
    }

    /// Flows that are held.
    #[cfg(test)]
    fn held(&self) -> usize {
        self.chunks.iter().flatten().map(|chunk| chunk.flows.len()).sum::<usize>() + self.stragglers.len()
    }
}

#[cfg(test)]
mod tests;
