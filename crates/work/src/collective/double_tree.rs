//! All-reduce over two binary trees: sums go up, the result comes down, segment by segment.

use super::expansion::{Expansion, part};
use super::ring::Lanes;
use crate::{NodeId, WorkError};
use std::ops::Range;

/// Parent of each position in a binary tree whose odd positions are leaves; 0 is the root. The subtree of a position is
/// what differs from it below its lowest bit.
fn parents(count: usize) -> Vec<Option<usize>> {
    let parent = |position: usize| {
        let lowest = position & position.wrapping_neg();
        let without = position ^ lowest;
        let above = without | lowest << 1;
        if above < count { above } else { without }
    };
    (0..count).map(|position| (position > 0).then(|| parent(position))).collect()
}

/// Expands one of the two trees for its half of a channel: odd `tree` is mirrored, or shifted by one where the count is
/// odd, so that leaves become inner nodes.
pub(super) fn expand(to: &mut Expansion<'_>, half: Range<u64>, tree: u32) -> Result<(), WorkError> {
    let (count, segments) = (to.count(), to.collective.segments as usize);
    let member = |position: usize| match (tree % 2, count % 2) {
        (0, _) => position,
        (_, 0) => count - 1 - position,
        _ => (position + 1) % count,
    };
    let parents = parents(count);
    // Deeper positions first: a position is deeper than its parent.
    let depth = |mut position: usize| {
        let mut depth = 0;
        while let Some(parent) = parents[position] {
            position = parent;
            depth += 1;
        }
        depth
    };
    let mut order: Vec<usize> = (1..count).collect();
    order.sort_by_key(|&position| std::cmp::Reverse(depth(position)));
    let (mut up, mut down) = (Lanes::of(to, count), Lanes::of(to, count));
    for segment in 0..segments {
        let range = part(&half, segments, segment);
        // By position: what must have ended before its sum, or the result, is complete.
        let mut summed: Vec<Vec<NodeId>> = vec![Vec::new(); count];
        for &position in &order {
            let Some(parent) = parents[position] else { continue };
            let mut after = std::mem::take(&mut summed[position]);
            after.extend(up.before(position));
            let pair = (member(position), member(parent));
            let (send, done) = to.pass(pair, range.clone(), true, &after, &[])?;
            up.note(position, send);
            summed[parent].push(done);
        }
        let mut result: Vec<Vec<NodeId>> = vec![Vec::new(); count];
        result[0] = std::mem::take(&mut summed[0]);
        for &position in order.iter().rev() {
            let Some(parent) = parents[position] else { continue };
            let mut after = result[parent].clone();
            after.extend(down.before(position));
            let pair = (member(parent), member(position));
            let (send, done) = to.pass(pair, range.clone(), false, &after, &[])?;
            down.note(position, send);
            result[position] = vec![done];
        }
    }
    Ok(())
}
