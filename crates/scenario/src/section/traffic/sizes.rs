//! Source of flow sizes.

use crate::file::NamedFile;
use anabranch_form::document::{Node, Value};
use anabranch_form::nearest;
use anabranch_form::unit::{Bytes, Refusal, Text, Unit, quoted};
use anabranch_traffic::sizes::{Convention, PUBLISHED, Published};

/// Source of flow sizes, and the rule by which they are drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct SizesSetting {
    /// Source of the sizes.
    pub source: SizeSource,
    /// How a size is drawn between two knots of a distribution.
    pub convention: Convention,
}

/// Source of flow sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum SizeSource {
    /// A published distribution, by name.
    Published(&'static str),
    /// Every flow alike, in bytes.
    Fixed(u64),
    /// Every size from the first to the second alike, in bytes.
    Uniform(u64, u64),
    /// A cumulative distribution from a file.
    File(NamedFile),
}

impl SizesSetting {
    /// Drawn the usual way.
    pub(crate) fn of(source: SizeSource) -> Self {
        Self { source, convention: Convention::Linear }
    }
}

/// A name, a size, or a table of `least` and `most` or of `file`.
pub(crate) struct SizeUnit;

impl SizeUnit {
    fn table(&self, node: &Node, table: &anabranch_form::document::Table) -> Result<SizeSource, Refusal> {
        let get = |key: &str| table.get(key).map(|entry| &entry.node);
        if let Some(file) = get("file") {
            table.refuse_others(&["file", "digest"])?;
            let path = Text { wants: "the name of a file" }.read(file)?;
            let digest = get("digest").map(|digest| Text { wants: "32 hexadecimal digits" }.read(digest));
            return Ok(SizeSource::File(NamedFile { path, digest: digest.transpose()? }));
        }
        table.refuse_others(&["least", "most"])?;
        let (Some(least), Some(most)) = (get("least"), get("most")) else {
            return Err(self.refuse(node, "`least` and `most` are not both given"));
        };
        let (least, most) = (Bytes::SOME.read(least)?, Bytes::SOME.read(most)?);
        if least > most {
            let mut refusal = self.refuse(node, "`least` is above `most`");
            refusal.hint = "give the smaller size as `least`".to_owned();
            return Err(refusal);
        }
        Ok(SizeSource::Uniform(least, most))
    }
}

impl Unit for SizeUnit {
    type Value = SizeSource;

    fn read(&self, node: &Node) -> Result<SizeSource, Refusal> {
        match &node.value {
            Value::Table(table) => self.table(node, table),
            Value::Text(text) | Value::Bare(text) => {
                if text.starts_with(|c: char| c.is_ascii_digit()) {
                    return Bytes::SOME.read(node).map(SizeSource::Fixed);
                }
                Published::named(text).map(|table| SizeSource::Published(table.name)).ok_or_else(|| {
                    let mut refusal = self.refuse(node, format!("`{text}` is unknown"));
                    refusal.hint = nearest::hint(text, PUBLISHED.iter().map(|table| table.name));
                    refusal
                })
            }
            _ => Bytes::SOME.read(node).map(SizeSource::Fixed),
        }
    }

    fn write(&self, value: &SizeSource) -> String {
        match value {
            SizeSource::Published(name) => quoted(name),
            SizeSource::Fixed(bytes) => Bytes::SOME.write(bytes),
            SizeSource::Uniform(least, most) => {
                format!("{{ least = {}, most = {} }}", Bytes::SOME.write(least), Bytes::SOME.write(most))
            }
            SizeSource::File(NamedFile { path, digest: None }) => format!("{{ file = {} }}", quoted(path)),
            SizeSource::File(NamedFile { path, digest: Some(digest) }) => {
                format!("{{ file = {}, digest = {} }}", quoted(path), quoted(digest))
            }
        }
    }

    fn wants(&self) -> String {
        let names: Vec<String> = PUBLISHED.iter().map(|table| quoted(table.name)).collect();
        format!(
            "one of {}; or \"100 KB\", {{ least = \"1 KB\", most = \"1 MB\" }}, {{ file = \"sizes.csv\" }}",
            names.join(", ")
        )
    }
}
