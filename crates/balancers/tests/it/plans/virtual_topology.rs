//! SAPS' virtual topologies for the residual bandwidths that the Wino paper works with.

use anabranch_balancers::saps::virtual_topology::{VirtualTopology, virtual_topologies};

const M: u64 = 1_000_000;
const G: u64 = 1000 * M;

#[test]
fn saps_groups_equal_paths() {
    let topology = |path_bps, paths: &[u16]| VirtualTopology { path_bps, paths: paths.to_vec() };
    assert_eq!(virtual_topologies(&[10 * G, 5 * G], 10 * M), [topology(10 * G, &[0]), topology(5 * G, &[1])]);
    assert_eq!(
        virtual_topologies(&[200 * M, 600 * M, 200 * M, 0], M),
        [topology(600 * M, &[1]), topology(200 * M, &[0, 2])]
    );
    // Most bandwidth together, not the fastest path.
    assert_eq!(
        virtual_topologies(&[5 * G, 10 * G, 5 * G, 5 * G], M),
        [topology(5 * G, &[0, 2, 3]), topology(10 * G, &[1])]
    );
    assert_eq!(virtual_topologies(&[10 * G + 1, 10 * G], 10 * M).len(), 1);
}
