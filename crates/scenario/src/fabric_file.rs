//! A fabric from a file that says other things too: the controller's, which has addresses where a scenario has traffic.

use crate::Files;
use crate::section::fabric;
use crate::section::fabric::{KINDS, Shape};
use anabranch_fabric::Fabric;
use anabranch_form::Origin;
use anabranch_form::document::Table;
use anabranch_form::{Form, FormError, Position, Reader, document};
use std::path::Path;

/// Reads and builds what `text`, which came from `file`, says under `[fabric]`; its other tables are left to others.
///
/// # Errors
/// What is wrong with `[fabric]`, with its line, and the hint.
pub fn fabric_of(text: &str, file: &str) -> Result<Fabric, FormError> {
    let mut document = document::parse(text, file, &[])?;
    let position = Position { source: file.into(), line: None };
    require_fabric(&document, &position)?;
    document.0.retain(|entry| entry.key == "fabric");
    let mut reader = Reader::new(document, position);
    let (mut shape, mut switch, mut origin) = (Shape::of_kind(KINDS[0]), None, Origin::default());
    reader.table("fabric", "The fabric as built.", |form| {
        fabric::visit(form, &mut shape, &mut switch);
        form.origin(&mut origin);
    });
    reader.finish()?;
    let built = shape.build(&origin, &Files::of(Path::new(file).parent().unwrap_or(Path::new(""))))?;
    Ok(built.fabric)
}

/// Refuses a file without `[fabric]`.
pub(crate) fn require_fabric(document: &Table, file: &Position) -> Result<(), FormError> {
    if document.get("fabric").is_none() {
        let hint = "add [fabric] with a kind, as in a scenario".to_owned();
        return Err(FormError::new(file.clone(), "fabric: missing", hint));
    }
    Ok(())
}
