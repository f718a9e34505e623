//! Switches whose ports tell classes of traffic apart: service, pausing, trimming, a shared buffer.

/// Number of classes of traffic at a port: two of control, then two of data.
pub const CLASSES: usize = 4;

/// Service of a class at a port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Service {
    /// Before all weighted classes; of several strict classes the first.
    Strict,
    /// Its share of what strict classes leave, by bytes, in proportion to this weight.
    Weighted(f64),
}

/// Treatment of one class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassSettings {
    /// Service at ports.
    pub service: Service,
    /// Whether switches pause it upstream before its buffer is full (PFC, IEEE 802.1Qbb), instead of dropping.
    pub lossless: bool,
    /// Whether frames that find no room are cut to a header, instead of dropped.
    pub trim: bool,
}

/// When a port decides about marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkAt {
    /// When a frame is enqueued, by the backlog that it finds.
    Enqueue,
    /// When a frame has been sent, by the backlog that it leaves behind.
    Dequeue,
}

/// Frames by which a pause is kept up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// A timer sends the pause again after half of its quantum, until the switch resumes.
    Timer,
    /// Every frame that arrives while the condition holds sends it again, and nothing else: pauses lapse.
    Arrival,
}

/// Buffer that all ports of a switch share, and its rules.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedBuffer {
    /// Bytes of the whole buffer.
    pub bytes: u64,
    /// Share of the free pool that one queue of a lossy class may fill (dynamic threshold, Choudhury and Hahne 1998).
    pub alpha: f64,
    /// Bound of one queue of a lossless class, as a multiple of what all of them leave free of the buffer (guarantees apart);
    /// frames beyond it are dropped. `None`: the class is paused and never bounded.
    pub lossless_alpha: Option<f64>,
    /// Share of the free pool that one ingress may fill, in one lossless class, before it is paused.
    pub pause_alpha: f64,
    /// Bytes of one ingress and class that never cause a pause and are set aside from the pool.
    pub guarantee_bytes: u32,
    /// Room set aside for what arrives after a pause was sent, for each ingress and lossless class; derived from the
    /// link if `None`.
    pub headroom_bytes: Option<u32>,
    /// Distance below the threshold at which a switch resumes, in bytes of the pool.
    pub resume_bytes: u32,
    /// Time after which a pause lapses, in picoseconds.
    pub quantum_ps: u64,
    /// Frames by which a pause is kept up.
    pub refresh: Refresh,
}

/// Switches with classes. Ports of a fabric without them are plain FIFOs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SwitchSettings {
    /// Treatment of each class.
    pub classes: [ClassSettings; CLASSES],
    /// When ports decide about marks.
    pub mark_at: MarkAt,
    /// Length of a trimmed frame, in bytes.
    pub trim_bytes: u16,
    /// Whether messages of load balancers travel in the second class of control, apart from acknowledgements.
    pub probes_apart: bool,
    /// Buffer that the ports of a switch share; each has the link's own if `None`.
    pub shared: Option<SharedBuffer>,
}

impl Default for SwitchSettings {
    /// Control strictly first, data dropped where there is no room, marks at enqueue, a buffer for each port.
    fn default() -> Self {
        let class = |service| ClassSettings { service, lossless: false, trim: false };
        let (strict, weighted) = (class(Service::Strict), class(Service::Weighted(1.0)));
        Self {
            classes: [strict, strict, weighted, weighted],
            mark_at: MarkAt::Enqueue,
            trim_bytes: 64,
            probes_apart: false,
            shared: None,
        }
    }
}

impl Default for SharedBuffer {
    /// ConWeave's switch (conweave-ns3 at 236a801, switch-mmu.cc): 9 MiB, 1/16 of the free pool for an ingress, pauses of
    /// 5 us; here a timer keeps pauses up, and headroom counts what can arrive after a pause.
    fn default() -> Self {
        Self {
            bytes: 9 << 20,
            alpha: 1.0,
            lossless_alpha: None,
            pause_alpha: 1.0 / 16.0,
            guarantee_bytes: 2096,
            headroom_bytes: None,
            resume_bytes: 16,
            quantum_ps: 5_000_000,
            refresh: Refresh::Timer,
        }
    }
}
