//! Hashes that switches are configured to, from names of tiers and switches to switches.

use crate::directory::Directory;
use crate::section::hash::{HashSetting, Seed};
use crate::tier::tier_name;
use anabranch_fabric::{Fabric, Tier};
use anabranch_form::FormError;
use anabranch_sim::transport::Transport;
use anabranch_sim::{Field, SwitchHash, salt};

/// Hash of each switch as the entries say; empty if there are none.
pub(crate) fn switch_hashes(
    hashes: &[HashSetting],
    fabric: &Fabric,
    transports: &[Transport],
    run_seed: u64,
) -> Result<Vec<Option<SwitchHash>>, FormError> {
    if hashes.is_empty() {
        return Ok(Vec::new());
    }
    let directory = Directory::of(fabric);
    let (hosts, nodes) = (fabric.hosts(), fabric.nodes());
    let mut of_switch = vec![None; nodes.len() - hosts as usize];
    for hash in hashes {
        if hash.fields.has(Field::QueuePair)
            && !transports.iter().any(|one| matches!(one, Transport::Roce(_)))
        {
            return Err(hash.origin.error(
                "fields",
                "\"dst_qp\" is read from the base transport header of RoCE, and no transport is RoCE",
                "leave it out, or set transport.kind = \"roce\"",
            ));
        }
        let mut switches = Vec::new();
        for name in &hash.at {
            match tier(&name.text) {
                Some(tier) => {
                    let before = switches.len();
                    switches.extend(
                        (hosts..nodes.len() as u32).filter(|&node| nodes[node as usize].tier == tier),
                    );
                    if switches.len() == before {
                        let mut tiers: Vec<_> = TIERS
                            .into_iter()
                            .filter(|&tier| nodes.iter().any(|node| node.tier == tier))
                            .collect();
                        tiers.dedup();
                        let names: Vec<&str> = tiers.into_iter().map(tier_name).collect();
                        return Err(FormError::new(
                            name.position.clone(),
                            format!("{}at: the fabric has no tier `{}`", hash.origin.path, name.text),
                            format!("its tiers are {}", names.join(", ")),
                        ));
                    }
                }
                None => switches.push(directory.switch(name)?),
            }
        }
        if hash.at.is_empty() {
            switches.extend(hosts..nodes.len() as u32);
        }
        for switch in switches.into_iter().map(|node| node - hosts) {
            let seed = match hash.seed {
                Seed::Same(seed) => seed,
                Seed::OfSwitch => salt(run_seed, switch),
            };
            let &HashSetting { algorithm, fields, offset, .. } = hash;
            of_switch[switch as usize] = Some(SwitchHash { algorithm, fields, seed, offset });
        }
    }
    Ok(of_switch)
}

/// Tiers whose switches choose.
const TIERS: [Tier; 4] = [Tier::Nic, Tier::Leaf, Tier::Aggregation, Tier::Spine];

fn tier(word: &str) -> Option<Tier> {
    TIERS.into_iter().find(|&tier| tier_name(tier) == word)
}
