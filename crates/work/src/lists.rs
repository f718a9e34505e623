//! Lists of numbers, one for each node.

/// Lists of numbers, one list per node, in one array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lists {
    first: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    pub(crate) fn of(count: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut first = vec![0u32; count + 1];
        for (of, _) in pairs.clone() {
            first[of as usize + 1] += 1;
        }
        for index in 0..count {
            first[index + 1] += first[index];
        }
        let mut next = first.clone();
        let mut items = vec![0; first[count] as usize];
        for (of, item) in pairs {
            items[next[of as usize] as usize] = item;
            next[of as usize] += 1;
        }
        Self { first, items }
    }

    pub(crate) fn of_node(&self, node: u32) -> &[u32] {
        &self.items[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }
}
