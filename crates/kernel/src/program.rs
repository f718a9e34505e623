//! Programs, loaded into the kernel with their maps.

use crate::body::Body;
use crate::capacity::Capacity;
use crate::error::KernelError;
use crate::group::Group;
use crate::layout::{
    Counter, Counters, Destination, GENERATION, GENERATIONS, Gateways, MEMBERS, plan_number,
};
use crate::maps::{Plain, Plans, summed};
use crate::object::Object;
use crate::trial::Packet;
use aya::Ebpf;
use aya::maps::lpm_trie::{Key, LpmTrie};
use aya::maps::{Array, MapData, PerCpuArray};
use aya::programs::{SchedClassifier, TestRun as _, TestRunOptions, Xdp};
use std::time::Duration;
use std::vec::Vec;

/// Layer at which a program is hooked in.
#[derive(Clone, Copy)]
enum Layer {
    Tc,
    Xdp,
}

/// A packet's way through the program, tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Value that the program returned. At tc -1 goes on, 2 drops, 7 leaves by another interface; at XDP 2, 1, 4.
    pub verdict: u32,
    /// Time of one run, the mean of all.
    pub duration: Duration,
}

/// A program in the kernel.
pub struct Program {
    ebpf: Ebpf,
    object: Object,
    layer: Layer,
    plans: Plans,
    capacity: Capacity,
}

impl Program {
    /// Loads a scheme's program for tc.
    ///
    /// # Errors
    /// The kernel's own words: no privilege (CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON are needed), or a kernel that lacks a feature.
    pub fn load(object: Object, capacity: Capacity) -> Result<Self, KernelError> {
        Self::load_for(Layer::Tc, object, capacity)
    }

    /// Loads a scheme's program for XDP, which is for [`crate::layout::Output::Redirect`] alone.
    ///
    /// # Errors
    /// As for tc.
    pub fn load_xdp(object: Object, capacity: Capacity) -> Result<Self, KernelError> {
        Self::load_for(Layer::Xdp, object, capacity)
    }

    fn load_for(layer: Layer, object: Object, capacity: Capacity) -> Result<Self, KernelError> {
        let mut ebpf = capacity.load(object)?;
        let loaded = match layer {
            Layer::Tc => classifier(&mut ebpf, object)?.load(),
            Layer::Xdp => xdp(&mut ebpf, object)?.load(),
        };
        loaded.map_err(KernelError::of("eBPF program"))?;
        let plans = ebpf.take_map("PLANS").ok_or_else(|| KernelError::new("PLANS", "no such map"))?;
        Ok(Self { ebpf, object, layer, plans: Plans::of(object, plans)?, capacity })
    }

    /// Writes groups with their bodies that are not in force yet, and puts them in force: packets see the old ones or
    /// the new, whole. The number of a group is its index here.
    ///
    /// # Errors
    /// A body that is not this scheme's; the kernel's refusal.
    pub fn put(&mut self, groups: &[(Group, Body)]) -> Result<(), KernelError> {
        let now: Array<&MapData, u32> = self.map(GENERATION)?;
        let next = (now.get(&0, 0).map_err(KernelError::of("eBPF generation"))? + 1) % GENERATIONS;
        for (number, (group, body)) in (0..).zip(groups) {
            self.plans.set(plan_number(next, number), group.head(), body)?;
        }
        let mut gateways: Array<&mut MapData, Plain<Gateways>> = self.map_mut("GATEWAYS")?;
        for (number, (group, _)) in (0..).zip(groups) {
            gateways
                .set(plan_number(next, number), Plain(group.gateways()), 0)
                .map_err(KernelError::of("eBPF gateways"))?;
        }
        let failed = |error| KernelError::of("eBPF routes")(error);
        let mut routes: LpmTrie<&mut MapData, Plain<Destination>, u32> = self.map_mut("ROUTES")?;
        let observed: Vec<Key<Plain<Destination>>> =
            routes.keys().collect::<Result<_, _>>().map_err(failed)?;
        // What this generation had two changes ago.
        for key in observed.iter().filter(|key| key.data().0.generation() == next) {
            routes.remove(key).map_err(failed)?;
        }
        for (number, (group, _)) in (0..).zip(groups) {
            for prefix in &group.prefixes {
                let (bits, destination) = prefix.destination(next);
                routes.insert(&Key::new(bits, Plain(destination)), number, 0).map_err(failed)?;
            }
        }
        let mut now: Array<&mut MapData, u32> = self.map_mut(GENERATION)?;
        now.set(0, next, 0).map_err(KernelError::of("eBPF generation"))
    }

    /// Packets and bytes of each member, over all processors; `MEMBERS` for each group.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn counters(&self) -> Result<Vec<Counter>, KernelError> {
        let counters: PerCpuArray<&MapData, Plain<Counters>> = self.map("COUNTERS")?;
        let mut sums = Vec::with_capacity(MEMBERS * self.capacity.groups as usize);
        for group in 0..self.capacity.groups {
            sums.extend(summed(&counters, group)?);
        }
        Ok(sums)
    }

    /// Instructions that the kernel's verifier walked through before it took the program: what its log grows with.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn verified_instructions(&mut self) -> Result<u32, KernelError> {
        let info = match self.layer {
            Layer::Tc => classifier(&mut self.ebpf, self.object)?.info(),
            Layer::Xdp => xdp(&mut self.ebpf, self.object)?.info(),
        };
        let info = info.map_err(|error| KernelError::of("eBPF program")(&error))?;
        let lacking = || KernelError::new("eBPF program", "no count before Linux 5.16");
        info.verified_instruction_count().ok_or_else(lacking)
    }

    /// Runs the program `repeat` times on a packet, as the kernel would (`BPF_PROG_TEST_RUN`); the frame afterwards
    /// stands in `after`, which is as long.
    ///
    /// # Errors
    /// The kernel's refusal: a frame shorter than Ethernet's header.
    pub fn try_packet(
        &mut self,
        packet: &Packet<'_>,
        after: &mut Vec<u8>,
        repeat: u32,
    ) -> Result<Trial, KernelError> {
        let (data, context, before) = match self.layer {
            Layer::Tc => (packet.frame.to_vec(), packet.sk_buff(), 0),
            Layer::Xdp => packet.xdp_md(),
        };
        after.clear();
        after.resize(data.len().max(64), 0);
        let mut options = TestRunOptions::new();
        options.data_in = Some(&data);
        options.data_out = Some(after);
        options.ctx_in = Some(&context);
        options.repeat = repeat;
        let ran = match self.layer {
            Layer::Tc => classifier(&mut self.ebpf, self.object)?.test_run(options),
            Layer::Xdp => xdp(&mut self.ebpf, self.object)?.test_run(options),
        };
        let ran = ran.map_err(|error| KernelError::of("eBPF trial")(&error))?;
        after.truncate(ran.data_size_out as usize);
        after.drain(..before);
        Ok(Trial { verdict: ran.return_value, duration: ran.duration })
    }

    fn map<'a, M>(&'a self, name: &'static str) -> Result<M, KernelError>
    where
        M: TryFrom<&'a aya::maps::Map>,
        M::Error: std::error::Error,
    {
        let map = self.ebpf.map(name).ok_or_else(|| KernelError::new(name, "no such map"))?;
        M::try_from(map).map_err(|error| KernelError::of(name)(&error))
    }

    fn map_mut<'a, M>(&'a mut self, name: &'static str) -> Result<M, KernelError>
    where
        M: TryFrom<&'a mut aya::maps::Map>,
        M::Error: std::error::Error,
    {
        let map = self.ebpf.map_mut(name).ok_or_else(|| KernelError::new(name, "no such map"))?;
        M::try_from(map).map_err(|error| KernelError::of(name)(&error))
    }
}

fn classifier(ebpf: &mut Ebpf, object: Object) -> Result<&mut SchedClassifier, KernelError> {
    program(ebpf, object.name())
}

fn xdp(ebpf: &mut Ebpf, object: Object) -> Result<&mut Xdp, KernelError> {
    program(ebpf, &std::format!("{}_xdp", object.name()))
}

fn program<'a, P>(ebpf: &'a mut Ebpf, name: &str) -> Result<&'a mut P, KernelError>
where
    &'a mut P: TryFrom<&'a mut aya::programs::Program, Error = aya::programs::ProgramError>,
{
    let lacking = || KernelError::new("eBPF program", std::format!("{name}: not in its object"));
    let program = ebpf.program_mut(name).ok_or_else(lacking)?;
    program.try_into().map_err(|error| KernelError::of("eBPF program")(&error))
}
