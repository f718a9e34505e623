//! `[[routing.hash]]`: hashes of header fields that switches are configured to choose by.

use anabranch_form::document::{Node, Value};
use anabranch_form::unit::{Choice, Count, Name, Named, OneOrMore, Refusal, Unit, quoted};
use anabranch_form::{Form, Origin};
use anabranch_sim::{Field, Fields, SwitchHash};
use anabranch_split::hash::Hash;
use std::sync::LazyLock;

/// Hash of some switches.
#[derive(Clone, Debug, PartialEq)]
pub struct HashSetting {
    /// Tiers and switches that have it; all if empty.
    pub at: Vec<Named>,
    /// Function.
    pub algorithm: Hash,
    /// Fields that it reads.
    pub fields: Fields,
    /// Seed.
    pub seed: Seed,
    /// Bits by which its result is rotated right.
    pub offset: u8,
    pub(crate) origin: Origin,
}

/// Seed of a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seed {
    /// The same at all switches.
    Same(u32),
    /// Each switch has its own, drawn from the run's.
    OfSwitch,
}

impl Default for HashSetting {
    fn default() -> Self {
        let algorithm = Hash::Crc32;
        let fields = Fields::default_of(algorithm);
        Self { at: Vec::new(), algorithm, fields, seed: Seed::Same(0), offset: 0, origin: Origin::default() }
    }
}

static ALGORITHMS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| SwitchHash::algorithms().map(Hash::name).collect());
const FIELDS: [&str; Field::ALL.len()] = {
    let mut names = [""; Field::ALL.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = Field::ALL[index].name();
        index += 1;
    }
    names
};
/// Most bits to rotate by: those of the widest result.
const OFFSET: Count = Count { least: 0, most: 31 };

/// The keys.
pub(super) fn visit(form: &mut impl Form, hash: &mut HashSetting) {
    form.key(
        "at",
        OneOrMore(Name { wants: "the name of a tier or of a switch" }),
        &mut hash.at,
        "Tiers (`nic`, `leaf`, `aggregation`, `spine`), or single switches, that hash so; all if the list is empty. A later \
         entry replaces an earlier one at its switches. Switches that no entry names hash ideally, as without entries.",
    );
    let mut algorithm = hash.algorithm.name();
    form.kind(
        "algorithm",
        Choice(ALGORITHMS.as_slice()),
        &mut algorithm,
        "Function of the hash, those of `anabranch split hashes`. CRCs, XOR and Toeplitz are linear.",
    );
    if algorithm != hash.algorithm.name()
        && let Ok(named) = algorithm.parse()
    {
        (hash.algorithm, hash.fields) = (named, Fields::default_of(named));
    }
    form.key(
        "fields",
        FieldList,
        &mut hash.fields,
        "Fields that it reads, in network byte order one behind the other, in the order of the five-tuple: source and \
         destination address, source and destination port, protocol, and RoCE's destination queue pair. A field that a \
         packet does not have is left out. Where it is not given: the five-tuple, for Toeplitz without the protocol (RSS).",
    );
    form.key(
        "seed",
        SeedUnit,
        &mut hash.seed,
        "Seed of the function, the same at all its switches; `switch`: each has its own, drawn from the run's seed. Another \
         seed of a CRC or of XOR renumbers next hops and cures no polarisation.",
    );
    let mut offset = hash.offset.into();
    form.key(
        "offset",
        OFFSET,
        &mut offset,
        "Bits by which the result is rotated right before a next hop is picked by it \
         (SAI_SWITCH_ATTR_ECMP_DEFAULT_HASH_OFFSET). `uniform` and `intervals` pick by the highest bits, `wcmp` by the lowest.",
    );
    hash.offset = offset as u8;
    form.origin(&mut hash.origin);
}

/// A list of fields.
struct FieldList;

impl Unit for FieldList {
    type Value = Fields;

    fn read(&self, node: &Node) -> Result<Fields, Refusal> {
        let named = OneOrMore(Choice(&FIELDS)).read(node)?;
        let fields: Fields = Field::ALL.into_iter().filter(|field| named.contains(&field.name())).collect();
        if fields.iter().count() == named.len() && !named.is_empty() {
            return Ok(fields);
        }
        let problem = if named.is_empty() {
            "no field, so that all packets hash alike"
        } else {
            "a field stands twice"
        };
        Err(self.refuse(node, problem))
    }

    fn write(&self, value: &Fields) -> String {
        let names: Vec<String> = value.iter().map(|field| quoted(field.name())).collect();
        format!("[{}]", names.join(", "))
    }

    fn wants(&self) -> String {
        format!("names of fields: {}", Choice(&FIELDS).wants())
    }
}

/// A number, or the word for one of each switch.
struct SeedUnit;

impl SeedUnit {
    const OF_SWITCH: &str = "switch";
    const NUMBER: Count = Count { least: 0, most: u32::MAX };
}

impl Unit for SeedUnit {
    type Value = Seed;

    fn read(&self, node: &Node) -> Result<Seed, Refusal> {
        match &node.value {
            Value::Text(word) | Value::Bare(word) if word == Self::OF_SWITCH => Ok(Seed::OfSwitch),
            Value::Integer(_) | Value::Bare(_) => Self::NUMBER
                .read(node)
                .map(Seed::Same)
                .map_err(|refusal| Refusal { hint: format!("give {}", self.wants()), ..refusal }),
            _ => Err(self.refuse_type(node)),
        }
    }

    fn write(&self, value: &Seed) -> String {
        match value {
            Seed::Same(number) => Self::NUMBER.write(number),
            Seed::OfSwitch => quoted(Self::OF_SWITCH),
        }
    }

    fn wants(&self) -> String {
        format!("{}, or \"{}\"", Self::NUMBER.wants(), Self::OF_SWITCH)
    }
}
