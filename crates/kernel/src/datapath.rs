//! A datapath: a scheme's program with its maps, pinned in a folder of the BPF file system, so that it goes on when
//! the process that made it ends, and the next one finds it as it is.

use crate::body::{Body, Home, asked};
use crate::capacity::PARTS;
use crate::error::KernelError;
use crate::folder::{clear, create_locked, half_of, inode, lock};
use crate::grace::Grace;
use crate::group::{Group, Prefix};
use crate::home::{Table, Tables};
use crate::layout::{
    Counter, Counters, Destination, GENERATIONS, Gateway, Gateways, Head, MEMBERS, NAME_BYTES, Output,
    plan_number,
};
use crate::link::{self, Attachment, Hook};
use crate::maps::{OTHER_VERSION, Plain, Plans, summed};
use crate::object::Object;
use crate::observed::{Observed, described};
use crate::pins::{TC, load};
use anabranch_split::PlanError;
use aya::maps::lpm_trie::{Key, LpmTrie};
use aya::maps::{Array, Map, MapData, MapInfo, PerCpuArray, PerCpuValues};
use aya::programs::SchedClassifier;
use std::collections::{BTreeMap, BTreeSet};
use std::format;
use std::fs;
use std::path::{Path, PathBuf};
use std::string::{String, ToString as _};
use std::vec;
use std::vec::Vec;

/// Entries in the map of routes of a datapath without routes; one with routes has more.
const UNROUTED: u32 = GENERATIONS;
/// Most groups of one datapath.
pub const GROUPS_MAX: u32 = 4096;

type Routes = LpmTrie<MapData, Plain<Destination>, u32>;

/// Plan of a group that comes into force.
struct Next {
    number: u32,
    head: Head,
    body: Body,
    home: Option<Home>,
}

/// A datapath in the kernel.
pub struct Datapath {
    folder: PathBuf,
    object: Object,
    groups: u32,
    routes: u32,
    /// Whether PLANS has room for homes: it has none where an earlier version made it.
    homes: bool,
    plans: Plans,
    generation: Array<MapData, u32>,
    destinations: Routes,
    counters: PerCpuArray<MapData, Plain<Counters>>,
    names: Array<MapData, [u8; NAME_BYTES]>,
    /// `None` where an earlier version made it, which routed no packets.
    gateways: Option<Array<MapData, Plain<Gateways>>>,
    grace: Grace,
}

impl Datapath {
    /// Loads and pins a datapath that has no group yet and is attached to nothing: all or nothing.
    ///
    /// # Arguments
    /// * `folder`: on a BPF file system; those above it are made, itself must not be there.
    /// * `groups`: how many it can hold.
    /// * `routes`: how many destinations; 0 for one group that takes all packets.
    ///
    /// # Errors
    /// It is there already; no BPF file system; no privilege; a kernel that lacks a feature.
    pub fn create(folder: &Path, object: Object, groups: u32, routes: u32) -> Result<Self, KernelError> {
        let what = || folder.display().to_string();
        if groups == 0 || groups > GROUPS_MAX || (routes == 0 && groups > 1) {
            let why = format!("{groups} groups: 1 to {GROUPS_MAX}, and without routes only one");
            return Err(KernelError::new(what(), why));
        }
        let Some(parent) = folder.parent() else {
            return Err(KernelError::new(what(), "not a folder of a BPF file system"));
        };
        if folder.to_string_lossy().contains('.') {
            return Err(KernelError::new(what(), "the BPF file system takes no dots in names; take another"));
        }
        let _lock = create_locked(parent)?;
        if folder.exists() {
            return Err(KernelError::new(what(), "there is a datapath already; remove it first"));
        }
        let half = half_of(folder)?;
        fs::create_dir(&half).map_err(KernelError::of_call(what()))?;
        let made = load(&half, object, groups, if routes == 1 { 2 } else { routes })
            .and_then(|()| fs::rename(&half, folder).map_err(KernelError::of_call(what())));
        if let Err(error) = made {
            clear(&half)?;
            return Err(error);
        }
        Self::pinned(folder)
    }

    /// The datapath of a folder; `None` if there is none.
    ///
    /// # Errors
    /// What is there is not a datapath of this version; no privilege.
    pub fn open(folder: &Path) -> Result<Option<Self>, KernelError> {
        loop {
            let Some(before) = inode(folder)? else { return Ok(None) };
            let found = Self::pinned(folder);
            // Another one in its place, or none: what was found may be half of each.
            if inode(folder)? == Some(before) {
                return found.map(Some);
            }
        }
    }

    fn pinned(folder: &Path) -> Result<Self, KernelError> {
        let map = |name: &str| -> Result<Map, KernelError> {
            let what = || format!("{}: {name}", folder.display());
            let data = MapData::from_pin(folder.join(name)).map_err(KernelError::of(what()))?;
            Map::from_map_data(data).map_err(KernelError::of(what()))
        };
        let size = |name: &str| -> Result<u32, KernelError> {
            let info = MapInfo::from_pin(folder.join(name)).map_err(KernelError::of(name))?;
            Ok(info.max_entries())
        };
        let program = SchedClassifier::from_pin(folder.join(TC)).map_err(KernelError::of(TC))?;
        let info = program.info().map_err(KernelError::of(TC))?;
        let name = info.name_as_str().unwrap_or_default().to_string();
        let object = Object::ALL.into_iter().find(|object| object.name() == name).ok_or_else(|| {
            KernelError::new(folder.display().to_string(), format!("{name}: no scheme of this version"))
        })?;
        let typed = || format!("{}: {OTHER_VERSION}", folder.display());
        let (groups, routes) = (size("COUNTERS")?, size("ROUTES")?);
        Ok(Self {
            folder: folder.to_path_buf(),
            object,
            groups,
            homes: object.has_slots() && size("PLANS")? >= GENERATIONS * groups * PARTS,
            routes: if routes > UNROUTED { routes / GENERATIONS } else { 0 },
            plans: Plans::of(object, map("PLANS")?)?,
            generation: Array::try_from(map("GENERATION")?).map_err(KernelError::of(typed()))?,
            destinations: LpmTrie::try_from(map("ROUTES")?).map_err(KernelError::of(typed()))?,
            counters: PerCpuArray::try_from(map("COUNTERS")?).map_err(KernelError::of(typed()))?,
            names: Array::try_from(map("NAMES")?).map_err(KernelError::of(typed()))?,
            gateways: if folder.join("GATEWAYS").exists() {
                Some(Array::try_from(map("GATEWAYS")?).map_err(KernelError::of(typed()))?)
            } else {
                None
            },
            grace: Grace::begin(),
        })
    }

    /// Its scheme.
    #[must_use]
    pub const fn scheme(&self) -> Object {
        self.object
    }

    /// Most groups it can hold.
    #[must_use]
    pub const fn group_capacity(&self) -> u32 {
        self.groups
    }

    /// Most destinations it can hold; 0 if one group takes all packets.
    #[must_use]
    pub const fn route_capacity(&self) -> u32 {
        self.routes
    }

    /// Whether its program can route packets: not where an earlier version made it.
    #[must_use]
    pub const fn can_route(&self) -> bool {
        self.gateways.is_some()
    }

    /// Attaches its program to a device of the caller's network namespace, behind others' programs.
    ///
    /// # Errors
    /// No such device, one that is taken (XDP), no privilege, a kernel before 6.6.
    pub fn attach(&self, device: u32, hook: Hook) -> Result<(), KernelError> {
        link::attach(&self.folder, device, hook)
    }

    /// Replaces another datapath's program on a device by its own: every packet meets one of the two, at the same
    /// place among others' programs.
    ///
    /// # Errors
    /// The other one is not attached there, or this one cannot be: nothing has changed then.
    pub fn replace(&self, other: &Self, device: u32, hook: Hook) -> Result<(), KernelError> {
        link::replace(&self.folder, &other.folder, device, hook)
    }

    /// Takes its program off a device.
    ///
    /// # Errors
    /// It is not attached there.
    pub fn detach(&self, device: u32, hook: Hook) -> Result<(), KernelError> {
        link::detach(&self.folder, device, hook)
    }

    /// Devices and hooks it is attached to.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn attachments(&self) -> Result<Vec<Attachment>, KernelError> {
        link::attachments(&self.folder)
    }

    /// The groups in force, in the order of their numbers.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn observed(&self) -> Result<Vec<Group>, KernelError> {
        Ok(self.in_force()?.into_values().map(|observed| observed.group).collect())
    }

    /// Share of each member that the plans in force really give, by group; see [`Body::shares`].
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn shares(&self) -> Result<Vec<Vec<f64>>, KernelError> {
        let observed = self.in_force()?;
        Ok(observed.values().map(|observed| observed.body.shares(observed.group.members.len())).collect())
    }

    /// Member of each slot that these groups would have if they were put in force, by group; empty where the scheme has
    /// no table.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn slots(&self, groups: &[Group]) -> Result<Vec<Vec<u16>>, KernelError> {
        let observed = self.in_force()?;
        let numbers = self.numbers(groups, &observed)?;
        let none = Tables::default();
        let body = |(group, number)| Ok(self.next(group, number, &observed, &none)?.body.slots());
        groups.iter().zip(numbers).map(body).collect()
    }

    /// Plan of a group, made from that of the observed group of its name, or of one that stood elsewhere.
    fn next(
        &self,
        group: &Group,
        number: u32,
        observed: &BTreeMap<u32, Observed>,
        before: &Tables,
    ) -> Result<Next, KernelError> {
        let here = observed.get(&number).filter(|observed| observed.group.name == group.name);
        let here = here.map(|observed| (&observed.body, observed.home.as_ref()));
        let elsewhere = || before.0.get(&group.name).map(|table| (&table.slots, table.home.as_ref()));
        let (slots, home) = here.or_else(elsewhere).unzip();
        let (body, home) = Body::next(self.object, group, slots, home.flatten())?;
        Ok(Next { number, head: group.head(), body, home })
    }

    /// Tables in force, if its scheme has tables and this version made it.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn tables(&self) -> Result<Tables, KernelError> {
        let mut tables = BTreeMap::new();
        for Observed { group, body, home, .. } in self.in_force()?.into_values().filter(|_| self.homes) {
            let refuse = |why: PlanError| KernelError::new(format!("group {}", group.name), format!("{why}"));
            let members = asked(&group).map_err(refuse)?;
            tables.insert(group.name, Table { members, slots: body, home });
        }
        Ok(Tables(tables))
    }

    /// Packets and bytes of each member since its group was created, by group, over all processors.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn counters(&self) -> Result<Vec<Vec<Counter>>, KernelError> {
        let observed = self.in_force()?;
        observed
            .iter()
            .map(|(&number, observed)| {
                Ok(summed(&self.counters, number)?[..observed.group.members.len()].to_vec())
            })
            .collect()
    }

    /// Puts other groups in force, all at once: a packet sees the old ones or the new, whole. A group keeps its number
    /// and its counters by its name. Answers whether anything had to change; with `dry_run` nothing does.
    ///
    /// # Errors
    /// Groups that cannot be; the kernel's refusal, after which the old ones are in force.
    pub fn put(&mut self, groups: &[Group], dry_run: bool) -> Result<bool, KernelError> {
        self.put_after(groups, &Tables::default(), dry_run)
    }

    /// Puts groups in force as [`Self::put`] does; those that are new here go on from the tables of their names in
    /// `before`: of a datapath whose place this one takes, or of a file.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn put_after(
        &mut self,
        groups: &[Group],
        before: &Tables,
        dry_run: bool,
    ) -> Result<bool, KernelError> {
        let parent = self.folder.parent().unwrap_or(&self.folder);
        let _lock = lock(parent)?;
        let observed = self.in_force()?;
        let numbers = self.numbers(groups, &observed)?;
        let mut desired = Vec::with_capacity(groups.len());
        for (group, &number) in groups.iter().zip(&numbers) {
            desired.push(self.next(group, number, &observed, before)?);
        }
        let same = desired.len() == observed.len()
            && groups.iter().zip(&desired).all(|(group, next)| {
                observed.get(&next.number).is_some_and(|observed| {
                    let same_prefixes = sorted(&observed.group.prefixes) == sorted(&group.prefixes);
                    observed.group.name == group.name
                        && observed.head == next.head
                        && observed.group.gateways() == group.gateways()
                        && observed.body == next.body
                        && same_prefixes
                })
            });
        if same || dry_run {
            return Ok(!same);
        }
        // The generation that was in force before this one may still be read by a packet.
        self.grace.over();
        let next = (self.in_force_number()? + 1) % GENERATIONS;
        self.write(next, groups, &desired, &observed)?;
        self.generation.set(0, next, 0).map_err(KernelError::of("eBPF generation"))?;
        self.grace = Grace::begin();
        Ok(true)
    }

    fn write(
        &mut self,
        next: u32,
        groups: &[Group],
        desired: &[Next],
        observed: &BTreeMap<u32, Observed>,
    ) -> Result<(), KernelError> {
        let failed = "eBPF routes";
        for key in self.destinations.keys().collect::<Result<Vec<_>, _>>().map_err(KernelError::of(failed))? {
            if key.data().0.generation() == next {
                self.destinations.remove(&key).map_err(KernelError::of(failed))?;
            }
        }
        for number in 0..self.groups {
            self.names
                .set(plan_number(next, number), [0; NAME_BYTES], 0)
                .map_err(KernelError::of("eBPF names"))?;
        }
        for (group, Next { number, head, body, home }) in groups.iter().zip(desired) {
            if observed.get(number).is_none_or(|observed| observed.group.name != group.name) {
                self.count_anew(*number)?;
            }
            self.plans.set(plan_number(next, *number), *head, body)?;
            if let Some(gateways) = &mut self.gateways {
                gateways
                    .set(plan_number(next, *number), Plain(group.gateways()), 0)
                    .map_err(KernelError::of("eBPF gateways"))?;
            }
            if let Some(home) = home.as_ref().filter(|_| self.homes) {
                self.plans.set(plan_number(next, self.groups + number), home.head(), &home.slots)?;
            }
            let mut name = [0; NAME_BYTES];
            name[..group.name.len()].copy_from_slice(group.name.as_bytes());
            self.names.set(plan_number(next, *number), name, 0).map_err(KernelError::of("eBPF names"))?;
            for prefix in &group.prefixes {
                let (bits, destination) = prefix.destination(next);
                self.destinations
                    .insert(&Key::new(bits, Plain(destination)), number, 0)
                    .map_err(KernelError::of(format!("{failed}: {prefix}")))?;
            }
        }
        Ok(())
    }

    fn count_anew(&mut self, group: u32) -> Result<(), KernelError> {
        let processors =
            aya::util::nr_cpus().map_err(|(what, error)| KernelError::new(what, error.to_string()))?;
        let zeros = PerCpuValues::try_from(vec![Plain([Counter::default(); MEMBERS]); processors])
            .map_err(KernelError::of("eBPF counters"))?;
        self.counters.set(group, zeros, 0).map_err(KernelError::of("eBPF counters"))
    }

    /// Number of each group: that of the observed group of its name, else the first free one.
    fn numbers(&self, groups: &[Group], observed: &BTreeMap<u32, Observed>) -> Result<Vec<u32>, KernelError> {
        let refuse = |group: &Group, why: String| Err(KernelError::new(format!("group {}", group.name), why));
        let by_name: BTreeMap<&str, u32> =
            observed.iter().map(|(&number, observed)| (observed.group.name.as_str(), number)).collect();
        let mut names = BTreeSet::new();
        let mut taken: BTreeMap<Prefix, &str> = BTreeMap::new();
        if groups.len() > self.groups as usize {
            let why = format!("{} groups: this datapath was made for {}", groups.len(), self.groups);
            return Err(KernelError::new(self.folder.display().to_string(), why));
        }
        for group in groups {
            group.check()?;
            if group.output == Output::Route && self.gateways.is_none() {
                return refuse(group, format!("routes packets: this datapath was {OTHER_VERSION}"));
            }
            if !names.insert(&group.name) {
                return refuse(group, "there twice; each group has a name of its own".into());
            }
            if (self.routes == 0) != group.prefixes.is_empty() {
                let why =
                    if self.routes == 0 { "takes all packets: leave prefixes out" } else { "no prefix" };
                return refuse(group, why.into());
            }
            for &prefix in &group.prefixes {
                if let Some(other) = taken.insert(prefix, &group.name) {
                    return refuse(group, format!("{prefix}: group {other} has it too"));
                }
            }
        }
        if taken.len() > self.routes as usize {
            let why = format!("{} prefixes: this datapath was made for {}", taken.len(), self.routes);
            return Err(KernelError::new(self.folder.display().to_string(), why));
        }
        let number = |group: &Group| by_name.get(group.name.as_str()).copied();
        let kept: Vec<u32> = groups.iter().filter_map(number).collect();
        let mut free = (0..self.groups).filter(|number| !kept.contains(number));
        // There are no more groups than numbers.
        Ok(groups.iter().filter_map(|group| number(group).or_else(|| free.next())).collect())
    }

    fn in_force_number(&self) -> Result<u32, KernelError> {
        self.generation.get(&0, 0).map_err(KernelError::of("eBPF generation"))
    }

    /// Groups in force by their numbers.
    fn in_force(&self) -> Result<BTreeMap<u32, Observed>, KernelError> {
        let generation = self.in_force_number()?;
        let mut prefixes: BTreeMap<u32, Vec<Prefix>> = BTreeMap::new();
        for route in self.destinations.iter() {
            let (key, group) = route.map_err(KernelError::of("eBPF routes"))?;
            let Plain(destination) = key.data();
            if destination.generation() == generation {
                let prefix = Prefix::of_destination(key.prefix_len(), destination);
                prefixes.entry(group).or_default().push(prefix);
            }
        }
        let mut found = BTreeMap::new();
        for number in 0..self.groups {
            let index = plan_number(generation, number);
            let name = self.names.get(&index, 0).map_err(KernelError::of("eBPF names"))?;
            let end = name.iter().position(|&byte| byte == 0).unwrap_or(NAME_BYTES);
            if end == 0 {
                continue;
            }
            let (head, body) = self.plans.get(index)?;
            let mut prefixes = prefixes.remove(&number).unwrap_or_default();
            prefixes.sort();
            let Plain(gateways) = match &self.gateways {
                Some(gateways) => gateways.get(&index, 0).map_err(KernelError::of("eBPF gateways"))?,
                None => Plain([Gateway::default(); MEMBERS]),
            };
            let name = String::from_utf8_lossy(&name[..end]);
            let group = described(&name, prefixes, self.object, (&head, &gateways), &body);
            let home = if self.homes {
                let (head, slots) = self.plans.get(plan_number(generation, self.groups + number))?;
                Home::read(&head, slots)
            } else {
                None
            };
            found.insert(number, Observed { group, head, body, home });
        }
        Ok(found)
    }

    /// Takes it off all devices and out of the kernel.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn remove(self) -> Result<(), KernelError> {
        let _lock = lock(self.folder.parent().unwrap_or(&self.folder))?;
        // Under its own name, where a crash leaves what can be found and removed again.
        link::take_off(&self.folder)?;
        let half = half_of(&self.folder)?;
        fs::rename(&self.folder, &half).map_err(KernelError::of_call(self.folder.display().to_string()))?;
        clear(&half)
    }
}

fn sorted(prefixes: &[Prefix]) -> Vec<Prefix> {
    let mut found = prefixes.to_vec();
    found.sort();
    found
}
