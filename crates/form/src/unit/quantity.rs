//! Times, rates and sizes: a decimal number and its unit, converted exactly.

use crate::document::{Node, Value};
use crate::nearest::Unknown;
use crate::unit::{Refusal, Unit, quoted};
use anabranch_fabric::Rate;
use anabranch_fabric::quantity::{RATES, Scale, TIMES, spelling};

const PS_PER_NS: u64 = 1000;

const SIZES: &[Scale] = &[("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1_000), ("B", 1)];
/// Powers of two are read and, being no one's canonical form, not written.
const BINARY_SIZES: &[Scale] = &[("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

const OPERATIONS: &[Scale] = &[
    ("EFLOPS", 1_000_000_000_000_000_000),
    ("PFLOPS", 1_000_000_000_000_000),
    ("TFLOPS", 1_000_000_000_000),
    ("GFLOPS", 1_000_000_000),
    ("MFLOPS", 1_000_000),
    ("FLOPS", 1),
];
const MEMORY_RATES: &[Scale] =
    &[("TB/s", 1_000_000_000_000), ("GB/s", 1_000_000_000), ("MB/s", 1_000_000), ("KB/s", 1_000), ("B/s", 1)];

/// A quantity of 2^63 of the smallest unit or more is refused, so that sums of two stay in 64 bits.
const MOST: u64 = i64::MAX as u64;

/// A time, in picoseconds.
#[derive(Clone, Copy)]
pub struct Time;

/// A time in whole nanoseconds, which is what switches and hosts count in.
#[derive(Clone, Copy)]
pub struct Nanoseconds;

/// A rate within the bounds of [`Rate`].
#[derive(Clone, Copy)]
pub struct Speed;

/// A sum of rates, in bits per second, above zero.
#[derive(Clone, Copy)]
pub struct Capacity;

/// Operations per second, above zero.
#[derive(Clone, Copy)]
pub struct Operations;

/// Bytes per second of a memory, above zero.
#[derive(Clone, Copy)]
pub struct MemoryRate;

/// A number of bytes from `least` to `most`.
#[derive(Clone, Copy)]
pub struct Bytes {
    /// Least value.
    pub least: u64,
    /// Largest value.
    pub most: u64,
}

impl Bytes {
    /// At least one byte.
    pub const SOME: Self = Self { least: 1, most: MOST };

    /// Units of sizes.
    pub(crate) const SCALES: [&[Scale]; 2] = [SIZES, BINARY_SIZES];

    /// Bytes of `node`, if they are within the bounds.
    pub(crate) fn bounded(&self, node: &Node, bytes: u64) -> Result<u64, Refusal> {
        if (self.least..=self.most).contains(&bytes) {
            return Ok(bytes);
        }
        let mut refusal = self.refuse(node, format!("{} is out of range", node.value.describe()));
        refusal.hint =
            format!("give a size from {} to {}", write(self.least, SIZES), write(self.most, SIZES));
        Err(refusal)
    }
}

/// The number and the unit of a quantity, apart.
pub(crate) struct Quantity<'a> {
    digits: u128,
    /// Digits behind the point.
    decimals: u32,
    pub unit: &'a str,
}

impl<'a> Quantity<'a> {
    /// `None` for what begins with no decimal number of at most 30 digits.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let number = number.replace('_', "");
        let (whole, part) = number.split_once('.').unwrap_or((&number, ""));
        let all = format!("{whole}{part}");
        if whole.is_empty() || all.len() > 30 || part.contains('.') || number.ends_with('.') {
            return None;
        }
        Some(Self { digits: all.parse().ok()?, decimals: part.len() as u32, unit: unit.trim() })
    }

    /// In the smallest unit; `None` if it is no whole number of them, or too many.
    pub(crate) fn times(&self, worth: u64) -> Option<u64> {
        let scaled = self.digits.checked_mul(u128::from(worth))?;
        let one = 10u128.pow(self.decimals);
        u64::try_from(scaled / one).ok().filter(|&value| scaled % one == 0 && value <= MOST)
    }
}

/// The text of a node that holds a quantity.
pub(crate) fn text_of<U: Unit>(unit: &U, node: &Node) -> Result<String, Refusal> {
    match &node.value {
        Value::Text(text) | Value::Bare(text) => Ok(text.clone()),
        Value::Integer(_) | Value::Float(_) => {
            Err(unit.refuse(node, format!("{} has no unit", node.value.describe())))
        }
        _ => Err(unit.refuse_type(node)),
    }
}

/// Why a text is no quantity in any of the units.
pub(crate) enum Fault {
    /// It begins with no number.
    NoNumber,
    /// A number alone.
    NoUnit,
    /// A unit that is unknown, with the known ones.
    UnknownUnit(Unknown<'static>),
    /// No whole number of the smallest unit, or too many.
    OutOfRange,
}

/// A quantity in the smallest unit.
pub(crate) fn scaled(text: &str, scales: &[&'static [Scale]]) -> Result<u64, Fault> {
    let quantity = Quantity::parse(text).ok_or(Fault::NoNumber)?;
    if quantity.unit.is_empty() {
        return Err(Fault::NoUnit);
    }
    let known = || scales.iter().flat_map(|scales| scales.iter());
    let spelling = spelling(quantity.unit).replace("kB", "KB");
    let scale = known().find(|(name, _)| *name == spelling);
    let (_, worth) =
        scale.ok_or_else(|| Fault::UnknownUnit(Unknown::of(&spelling, known().map(|(name, _)| *name))))?;
    quantity.times(*worth).ok_or(Fault::OutOfRange)
}

/// A refusal of `node`, which holds `text`.
pub(crate) fn refuse<U: Unit>(unit: &U, node: &Node, text: &str, smallest: &str, fault: Fault) -> Refusal {
    match fault {
        Fault::NoNumber => unit.refuse(node, format!("`{text}` is not a valid value")),
        Fault::NoUnit => unit.refuse(node, format!("`{text}` has no unit")),
        Fault::UnknownUnit(unknown) => {
            let own = Quantity::parse(text).map_or("", |quantity| quantity.unit);
            let refusal = unit.refuse(node, format!("`{text}`: the unit `{own}` is unknown"));
            Refusal { hint: unknown.hint(), ..refusal }
        }
        Fault::OutOfRange => {
            unit.refuse(node, format!("`{text}` is no whole number of {smallest} below 2^63"))
        }
    }
}

fn read<U: Unit>(unit: &U, node: &Node, scales: &[&'static [Scale]], smallest: &str) -> Result<u64, Refusal> {
    let text = text_of(unit, node)?;
    scaled(&text, scales).map_err(|fault| refuse(unit, node, &text, smallest, fault))
}

/// In the largest unit of which it is a whole number.
fn write(value: u64, scales: &[Scale]) -> String {
    let zero = value == 0;
    let fits = |scale: &&Scale| zero || value.is_multiple_of(scale.1);
    let (name, worth) = scales.iter().find(fits).copied().unwrap_or(("", 1));
    quoted(&format!("{} {name}", value / worth))
}

impl Unit for Time {
    type Value = u64;

    fn read(&self, node: &Node) -> Result<u64, Refusal> {
        read(self, node, &[TIMES], "picoseconds")
    }

    fn write(&self, value: &u64) -> String {
        write(*value, TIMES)
    }

    fn wants(&self) -> String {
        "a time such as \"12 us\"".to_owned()
    }
}

impl Unit for Nanoseconds {
    type Value = u64;

    fn read(&self, node: &Node) -> Result<u64, Refusal> {
        let ps = Time.read(node)?;
        if !ps.is_multiple_of(PS_PER_NS) {
            let mut refusal =
                self.refuse(node, format!("{} is finer than a nanosecond", node.value.describe()));
            refusal.hint = "give whole nanoseconds".to_owned();
            return Err(refusal);
        }
        Ok(ps / PS_PER_NS)
    }

    fn write(&self, value: &u64) -> String {
        Time.write(&value.saturating_mul(PS_PER_NS))
    }

    fn wants(&self) -> String {
        Time.wants()
    }
}

impl Unit for Speed {
    type Value = Rate;

    fn read(&self, node: &Node) -> Result<Rate, Refusal> {
        let bps = read(self, node, &[RATES], "bits per second")?;
        Rate::from_bps(bps).ok_or_else(|| {
            let mut refusal = self.refuse(node, format!("{} is out of range", node.value.describe()));
            refusal.hint = format!(
                "give a rate from {} to {}",
                write(Rate::LEAST_BPS, RATES),
                write(Rate::MOST_BPS, RATES)
            );
            refusal
        })
    }

    fn write(&self, value: &Rate) -> String {
        write(value.bps(), RATES)
    }

    fn wants(&self) -> String {
        "a rate such as \"10 Gbps\"".to_owned()
    }
}

/// Like [`read`], and not zero.
fn read_some<U: Unit>(
    unit: &U,
    node: &Node,
    scales: &'static [Scale],
    smallest: &str,
) -> Result<u64, Refusal> {
    match read(unit, node, &[scales], smallest)? {
        0 => Err(unit.refuse(node, format!("{} is out of range", node.value.describe()))),
        value => Ok(value),
    }
}

impl Unit for Capacity {
    type Value = u64;

    fn read(&self, node: &Node) -> Result<u64, Refusal> {
        read_some(self, node, RATES, "bits per second")
    }

    fn write(&self, value: &u64) -> String {
        write(*value, RATES)
    }

    fn wants(&self) -> String {
        "a capacity such as \"160 Gbps\"".to_owned()
    }
}

impl Unit for Operations {
    type Value = u64;

    fn read(&self, node: &Node) -> Result<u64, Refusal> {
        read_some(self, node, OPERATIONS, "operations per second")
    }

    fn write(&self, value: &u64) -> String {
        write(*value, OPERATIONS)
    }

    fn wants(&self) -> String {
        "operations per second such as \"312 TFLOPS\"".to_owned()
    }
}

impl Unit for MemoryRate {
    type Value = u64;

    fn read(&self, node: &Node) -> Result<u64, Refusal> {
        read_some(self, node, MEMORY_RATES, "bytes per second")
    }

    fn write(&self, value: &u64) -> String {
        write(*value, MEMORY_RATES)
    }

    fn wants(&self) -> String {
        "bytes per second such as \"2 TB/s\"".to_owned()
    }
}

impl Unit for Bytes {
    type Value = u64;

    fn read(&self, node: &Node) -> Result<u64, Refusal> {
        let bytes = read(self, node, &Self::SCALES, "bytes")?;
        self.bounded(node, bytes)
    }

    fn write(&self, value: &u64) -> String {
        write(*value, SIZES)
    }

    fn wants(&self) -> String {
        "a size such as \"64 KB\"".to_owned()
    }
}
