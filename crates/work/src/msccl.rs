//! MSCCL algorithms: XML with the steps of each thread block of each GPU (microsoft/msccl-tools).

use crate::{Act, Builder, Graph, Node, NodeId, Part, WorkError};
use roxmltree::{Document, Node as Element};
use std::collections::HashMap;

/// Most chunks or steps that a file may name.
const MOST: u32 = 1 << 20;

/// Settings of a reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Buffer {
    /// Bytes of the whole buffer, which the file divides into chunks.
    pub bytes: u64,
    /// Time that summing takes, in picoseconds per byte.
    pub reduce_ps_per_byte: f64,
}

/// Reads an algorithm. A thread block does its steps in turn, one after the other; messages between two ranks are matched
/// by channel, in order.
///
/// # Errors
/// The first line at fault.
pub fn read(text: &str, file: &str, buffer: Buffer) -> Result<Graph, WorkError> {
    let document = Document::parse(text).map_err(|error| {
        WorkError::at_line(file, error.pos().row, format!("no XML: {error}"), "give an MSCCL algorithm")
    })?;
    let reader = Reader { file, document: &document };
    let algorithm = document.root_element();
    if !algorithm.has_tag_name("algo") {
        return Err(reader.error(algorithm, "the root is not `algo`"));
    }
    let ranks = reader.number(algorithm, "ngpus")?;
    let mut builder = Builder::new(file, ranks).map_err(|error| reader.error(algorithm, &error.problem))?;
    let chunks = reader.chunks(algorithm)?;
    if buffer.bytes < u64::from(chunks) {
        let hint = format!("give it a size of at least {chunks} bytes, one for each chunk");
        let place = format!("{file}:{}", reader.line(algorithm));
        return Err(WorkError::new(place, format!("{} bytes in {chunks} chunks", buffer.bytes), hint));
    }
    let name = algorithm.attribute("name").unwrap_or("msccl").to_owned();
    builder.begin_part(Part { step: 0, name, bytes: buffer.bytes, ranks, bus: None });
    let mut seen = vec![false; ranks as usize];
    for gpu in algorithm.children().filter(|node| node.has_tag_name("gpu")) {
        let rank = reader.below(gpu, "id", ranks)?;
        if std::mem::replace(&mut seen[rank as usize], true) {
            return Err(reader.error(gpu, &format!("a second gpu {rank}")));
        }
        read_gpu(&reader, gpu, (rank, ranks), (chunks, buffer), &mut builder)?;
    }
    Ok(builder.finish())
}

struct Reader<'a, 'input> {
    file: &'a str,
    document: &'a Document<'input>,
}

impl Reader<'_, '_> {
    fn line(&self, element: Element<'_, '_>) -> u32 {
        self.document.text_pos_at(element.range().start).row
    }

    fn error(&self, element: Element<'_, '_>, problem: &str) -> WorkError {
        let hint = "give an algorithm as msccl-tools writes it";
        WorkError::at_line(self.file, self.line(element), problem, hint)
    }

    fn integer(&self, element: Element<'_, '_>, name: &str) -> Result<i64, WorkError> {
        let value = element.attribute(name);
        value.and_then(|value| value.parse().ok()).ok_or_else(|| {
            let found = value.map_or("missing".to_owned(), |value| format!("`{value}`"));
            self.error(element, &format!("attribute {name}: {found} is no integer"))
        })
    }

    fn number(&self, element: Element<'_, '_>, name: &str) -> Result<u32, WorkError> {
        let number = self.integer(element, name)?;
        let found = u32::try_from(number).ok().filter(|&number| number <= MOST);
        found.ok_or_else(|| self.error(element, &format!("attribute {name}: {number} is out of range")))
    }

    fn below(&self, element: Element<'_, '_>, name: &str, end: u32) -> Result<u32, WorkError> {
        let number = self.number(element, name)?;
        if number < end {
            return Ok(number);
        }
        Err(self.error(element, &format!("attribute {name}: {number}; numbers end at {}", end - 1)))
    }

    /// Chunks of the whole buffer: those of input or output, whichever are more.
    fn chunks(&self, algorithm: Element<'_, '_>) -> Result<u32, WorkError> {
        let mut most = 1;
        for gpu in algorithm.children().filter(|node| node.has_tag_name("gpu")) {
            most = most.max(self.number(gpu, "i_chunks")?).max(self.number(gpu, "o_chunks")?);
        }
        Ok(most)
    }
}

fn read_gpu(
    reader: &Reader<'_, '_>,
    gpu: Element<'_, '_>,
    (rank, ranks): (u32, u32),
    (chunks, buffer): (u32, Buffer),
    builder: &mut Builder,
) -> Result<(), WorkError> {
    // By thread block and step: first and last node.
    let mut nodes: HashMap<(i64, i64), (NodeId, NodeId)> = HashMap::new();
    let mut waits: Vec<(NodeId, (i64, i64), Element<'_, '_>)> = Vec::new();
    for block in gpu.children().filter(|node| node.has_tag_name("tb")) {
        let (block_id, channel) = (reader.integer(block, "id")?, reader.number(block, "chan")?);
        let mut last: Option<NodeId> = None;
        for step in block.children().filter(|node| node.has_tag_name("step")) {
            let kind = step.attribute("type").unwrap_or("");
            let (receives, sums, sends) = match kind {
                "s" => (false, false, true),
                "r" => (true, false, false),
                "rcs" => (true, false, true),
                "rrc" => (true, true, false),
                "rrs" | "rrcs" => (true, true, true),
                "re" => (false, true, false),
                "cpy" | "nop" => (false, false, false),
                _ => return Err(reader.error(step, &format!("a step of type `{kind}`"))),
            };
            let count = reader.number(step, "cnt")?;
            let bytes = (u128::from(buffer.bytes) * u128::from(count) / u128::from(chunks)) as u64;
            if bytes == 0 && (receives || sends) {
                return Err(reader.error(step, "a message of 0 bytes"));
            }
            let mut acts = Vec::new();
            if receives {
                let from = reader.below(block, "recv", ranks)?;
                acts.push(Act::Recv { from: Some(from), bytes, tag: Some(channel) });
            }
            let ps = (bytes as f64 * buffer.reduce_ps_per_byte).round() as u64;
            if sums && ps > 0 {
                acts.push(Act::Calc { ps });
            }
            if sends {
                acts.push(Act::Send { to: reader.below(block, "send", ranks)?, bytes, tag: channel });
            }
            if acts.is_empty() {
                acts.push(Act::Wait { ps: 0 });
            }
            let line = reader.line(step);
            let mut first = None;
            for act in acts {
                let id = builder.add(rank, Node { act, cpu: 0, nic: 0, part: 0, line })?;
                if let Some(last) = last {
                    builder.requires(id, last);
                }
                last = Some(id);
                first.get_or_insert(id);
            }
            let (Some(first), Some(last)) = (first, last) else { continue };
            if nodes.insert((block_id, reader.integer(step, "s")?), (first, last)).is_some() {
                return Err(reader.error(step, "a second step of this number"));
            }
            let (other, of) = (reader.integer(step, "depid")?, reader.integer(step, "deps")?);
            if other >= 0 {
                waits.push((first, (other, of), step));
            }
        }
    }
    for (first, on, step) in waits {
        let problem = || {
            reader.error(step, &format!("it depends on step {} of block {}, which is not there", on.1, on.0))
        };
        builder.requires(first, nodes.get(&on).ok_or_else(problem)?.1);
    }
    Ok(())
}
