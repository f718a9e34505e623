//! `fabric.preset` and `[fabric.switch]`: ports that tell classes of traffic apart.

use anabranch_fabric::topology::LinkSettings;
use anabranch_fabric::{
    Buffer, ClassSettings, MarkAt, Marking, Refresh, Service, SharedBuffer, SwitchSettings,
};
use anabranch_form::Form;
use anabranch_form::unit::{Bytes, Choice, Flag, Positive, Time};
use anabranch_sim::Class;

/// Switches with classes, and the preset that their defaults come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SwitchSetting {
    /// Name of the preset.
    pub preset: &'static str,
    /// Settings of the simulator.
    pub settings: SwitchSettings,
}

/// Presets.
pub(crate) const PRESETS: [&str; 3] = ["lossy", "lossless-roce", "uec-trimming"];

const SERVICES: [&str; 2] = ["strict", "weighted"];
const MOMENTS: [&str; 2] = ["enqueue", "dequeue"];
const REFRESHES: [&str; 2] = ["timer", "arrival"];
/// Largest weight or share.
const MOST: Positive = Positive { most: 1e6 };
/// Sizes that are counted in 32 bits.
const SIZE: Bytes = Bytes { least: 0, most: u32::MAX as u64 };

impl SwitchSetting {
    /// A preset with its values.
    pub(crate) fn of(preset: &'static str) -> Self {
        let mut settings = SwitchSettings::default();
        let data = Class::Data as usize;
        match preset {
            "lossless-roce" => {
                settings.classes[data].lossless = true;
                settings.mark_at = MarkAt::Dequeue;
                settings.shared = Some(SharedBuffer::default());
            }
            "uec-trimming" => {
                settings.classes[data].trim = true;
                settings.mark_at = MarkAt::Dequeue;
            }
            _ => settings.shared = Some(SharedBuffer::default()),
        }
        Self { preset, settings }
    }

    /// Links of a preset, where the scenario says nothing else.
    fn link(self) -> LinkSettings {
        let link = LinkSettings::default();
        match self.preset {
            // conweave-ns3 at 236a801, run.py: marks from 100 to 400 KB, at most one in five, at 100 Gbit/s.
            "lossless-roce" => LinkSettings {
                marking: Marking::Ramp { low_bytes: 100_000, high_bytes: 400_000, probability: 0.2 },
                ..link
            },
            // uet-htsim at 40ccb05, main_uec.cpp: one BDP of 43 frames of 4150 bytes, marks from 0.2 to 0.8 of it.
            "uec-trimming" => LinkSettings {
                buffer: Buffer { bytes: 178_450, packets: u32::MAX },
                marking: Marking::Ramp { low_bytes: 37_350, high_bytes: 145_250, probability: 1.0 },
                ..link
            },
            _ => link,
        }
    }
}

/// The key of the preset. Returns what links are where nothing else is said: the preset's, when it has just been read.
pub(crate) fn visit_preset(form: &mut impl Form, switch: &mut Option<SwitchSetting>) -> LinkSettings {
    let before = switch.map(|switch| switch.preset);
    let mut preset = before;
    form.optional(
        "preset",
        Choice(&PRESETS),
        &mut preset,
        "Gives ports classes of traffic, with the settings below `switch`, and defaults for them and for links. All \
         presets serve control (acknowledgements and other packets without payload) before data. Lossy: the ports of a \
         switch share a buffer, of which a queue may fill a share of what is free (Choudhury and Hahne 1998; sizes of \
         conweave-ns3 at 236a801). Lossless-roce: data are paused upstream instead of dropped (PFC, IEEE 802.1Qbb; \
         conweave-ns3: 9 MiB, 1/16 of the free pool, 5 us, marks from 100 to 400 KB with at most 0.2, at dequeue). \
         Uec-trimming: data without room are cut to a header (uet-htsim at 40ccb05: 178,450 B, marks from 37,350 to \
         145,250 B left at dequeue). Without a preset ports are plain FIFOs.",
    );
    if preset == before {
        return LinkSettings::default();
    }
    *switch = preset.map(SwitchSetting::of);
    switch.map_or_else(LinkSettings::default, SwitchSetting::link)
}

/// The keys of switches.
pub(crate) fn visit(form: &mut impl Form, switch: &mut Option<SwitchSetting>) {
    let Some(SwitchSetting { settings, .. }) = switch else { return };
    form.table("switch", "Ports with classes of traffic, at switches and hosts.", |form| {
        keys(form, settings);
    });
}

fn keys(form: &mut impl Form, settings: &mut SwitchSettings) {
    let mut moment = MOMENTS[usize::from(settings.mark_at == MarkAt::Dequeue)];
    form.key(
        "ecn_at",
        Choice(&MOMENTS),
        &mut moment,
        "When a switch decides about marks (`ecn` of the link), by the backlog of the packet's class: as a packet comes, by \
         what it finds, or when it has been sent, by what it leaves behind.",
    );
    settings.mark_at = if moment == MOMENTS[0] { MarkAt::Enqueue } else { MarkAt::Dequeue };
    let mut trim_bytes = settings.trim_bytes.into();
    form.key("trim_size", Bytes { least: 64, most: 1500 }, &mut trim_bytes, "Length of a trimmed frame.");
    settings.trim_bytes = trim_bytes as u16;
    form.key(
        "probes_apart",
        Flag,
        &mut settings.probes_apart,
        "Messages of load balancers (probes, replies, answers of leaves) travel in `second_control` instead of `control`.",
    );
    let meanings = [
        "Control: packets without payload, and trimmed ones. Its room is twice that of data.",
        "Control that asks for a class of its own.",
        "Data.",
        "Data that ask for a class of their own.",
    ];
    for (class, meaning) in Class::ALL.into_iter().zip(meanings) {
        let treatment = &mut settings.classes[class as usize];
        let data = class >= Class::Data;
        form.table(class.name(), meaning, |form| visit_class(form, treatment, data));
    }
    form.optional_table(
        "shared",
        &mut settings.shared,
        "Buffer that ports of a switch share for data. Without it a class of data has the link's `buffer` at a port.",
        SharedBuffer::default,
        visit_shared,
    );
    if settings.shared.is_none() && settings.classes.iter().any(|class| class.lossless) {
        form.refuse(
            "",
            "a class is lossless, and switches share no buffer whose thresholds could pause it".to_owned(),
            "add [fabric.switch.shared], or take the preset \"lossless-roce\"".to_owned(),
        );
    }
}

fn visit_class(form: &mut impl Form, class: &mut ClassSettings, data: bool) {
    let mut service = SERVICES[usize::from(class.service != Service::Strict)];
    form.key(
        "service",
        Choice(&SERVICES),
        &mut service,
        "Strict classes are served first, in the order in which they stand here; weighted ones share the rest.",
    );
    let mut weight = if let Service::Weighted(weight) = class.service { weight } else { 1.0 };
    class.service = Service::Strict;
    if service == SERVICES[1] {
        form.key("weight", MOST, &mut weight, "Share of a weighted class, by bytes.");
        class.service = Service::Weighted(weight);
    }
    if !data {
        return;
    }
    form.key(
        "lossless",
        Flag,
        &mut class.lossless,
        "Pause the class upstream before there is no room (PFC), instead of dropping. Hosts obey.",
    );
    form.key(
        "trim",
        Flag,
        &mut class.trim,
        "Cut frames that find no room to a header, which goes on in the class of control: the arriving one or the one that \
         came before it, by a fair coin. To TCP and UDP a header means nothing, and its payload counts as dropped.",
    );
    if class.lossless && class.trim {
        form.refuse(
            "trim",
            "true, and the class is lossless: it always finds room".to_owned(),
            "set lossless or trim to false".to_owned(),
        );
    }
}

fn visit_shared(form: &mut impl Form, shared: &mut SharedBuffer) {
    form.key("size", Bytes::SOME, &mut shared.bytes, "Bytes of the whole buffer of a switch.");
    form.key(
        "alpha",
        MOST,
        &mut shared.alpha,
        "How much of a lossy class may wait at a port: so many times what is free of the pool.",
    );
    form.optional(
        "lossless_alpha",
        MOST,
        &mut shared.lossless_alpha,
        "Bound of a lossless class at a port, as a multiple of what lossless classes leave free of the buffer (guarantees \
         apart). Frames beyond it are dropped, pauses or not, as conweave-ns3 does (1.0). Default: there is no bound.",
    );
    form.key(
        "pause_alpha",
        MOST,
        &mut shared.pause_alpha,
        "How much of a lossless class may wait that came in by one port, beyond the guarantee, before that port is paused: \
         so many times what is free of the pool.",
    );
    let mut guarantee = shared.guarantee_bytes.into();
    form.key(
        "guarantee",
        SIZE,
        &mut guarantee,
        "Bytes of each port and lossless class that never cause a pause; set aside from the pool.",
    );
    shared.guarantee_bytes = guarantee as u32;
    let mut headroom = shared.headroom_bytes.map(u64::from);
    form.optional(
        "headroom",
        SIZE,
        &mut headroom,
        "Bytes set aside for what still comes in by a port after a switch paused it, for each lossless class; where none is \
         given, what its link can carry during the pause's way there and back, and three full frames; where the port leads to a \
         network card that jitters, four.",
    );
    shared.headroom_bytes = headroom.map(|bytes| bytes as u32);
    let mut resume = shared.resume_bytes.into();
    form.key(
        "resume_offset",
        SIZE,
        &mut resume,
        "A paused port goes on below the threshold for a pool that has so much less free.",
    );
    shared.resume_bytes = resume as u32;
    form.key("pause", Time, &mut shared.quantum_ps, "Time after which a pause lapses.");
    let mut refresh = REFRESHES[usize::from(shared.refresh == Refresh::Arrival)];
    form.key(
        "refresh",
        Choice(&REFRESHES),
        &mut refresh,
        "What keeps a pause up: a timer, after half of its time; or each frame that arrives while the threshold is passed, \
         as in conweave-ns3, where pauses lapse by themselves and headroom may overflow.",
    );
    shared.refresh = if refresh == REFRESHES[0] { Refresh::Timer } else { Refresh::Arrival };
}
