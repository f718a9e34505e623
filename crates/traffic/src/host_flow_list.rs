//! Flows between hosts as CSV: a list given to one simulator can be given to another.

use crate::csv_rows::{CsvError, CsvRows, Fault};
use crate::{Flow, Ports, Start, TrafficError};
use anabranch_fabric::Fabric;
use csv::StringRecord;
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::num::NonZeroU16;

/// Form of a list, as errors describe it.
const FORM: &str = "begin the list with the line id,src,dst,size_bytes,start_ns and, if flows are pinned, path; if ports are \
                    given, src_port and dst_port";

/// Columns that a list may have.
const NAMES: [&str; 8] = ["id", "src", "dst", "size_bytes", "start_ns", "path", "src_port", "dst_port"];

/// Positions of the columns.
struct Columns {
    id: usize,
    src: usize,
    dst: usize,
    size_bytes: usize,
    start_ns: usize,
    path: Option<usize>,
    src_port: Option<usize>,
    dst_port: Option<usize>,
}

/// Reads flows between hosts of `fabric`, each by its number or its name. `id` counts the rows from 0, because it names the flow
/// in results. `start_ns` may have up to three decimals, which are picoseconds. `path`, `src_port` and `dst_port` may be empty;
/// without them flows are not pinned, and hosts choose their ports. Lines that start with `#` are comments. All flows get the given transport. `file` names the input in errors.
///
/// # Errors
/// Refuses a header without these columns, with one twice or with another, which would be a setting that nothing heeds; a
/// list without rows; and the first row that is no such flow.
pub fn read_host_flows<C: Default + Extend<Flow>>(
    input: impl Read,
    file: &str,
    fabric: &Fabric,
    transport: u8,
) -> Result<C, CsvError> {
    let mut rows = CsvRows::new(input, file)?;
    let required = |name| rows.required(name, FORM);
    let columns = Columns {
        id: required("id")?,
        src: required("src")?,
        dst: required("dst")?,
        size_bytes: required("size_bytes")?,
        start_ns: required("start_ns")?,
        path: rows.column("path"),
        src_port: rows.column("src_port"),
        dst_port: rows.column("dst_port"),
    };
    if let Some(fault) = stray_column(rows.header()) {
        return Err(rows.fault(fault));
    }
    let hosts = Hosts::of(fabric);
    let (mut flows, mut count) = (C::default(), 0);
    while let Some(row) = rows.read()? {
        let flow = columns.flow(row, count, &hosts, transport);
        flows.extend([flow.map_err(|fault| rows.fault(fault))?]);
        count += 1;
    }
    match count == 0 {
        true => Err(rows.fault_of_file(("no flow".to_string(), "give one flow per row".to_string()))),
        false => Ok(flows),
    }
}

/// First column that a list does not have, or has already.
fn stray_column(header: &StringRecord) -> Option<Fault> {
    let stray = |(at, name): (usize, &str)| {
        let twice = header.iter().take(at).any(|before| before == name);
        if NAMES.contains(&name) && !twice {
            return None;
        }
        let meant = NAMES.iter().find(|known| known.eq_ignore_ascii_case(name));
        let hint = match meant {
            _ if twice => "keep one of the two".to_string(),
            Some(known) => format!("write it `{known}`"),
            None => format!("leave it out; columns are {}", NAMES.join(", ")),
        };
        let problem = if twice { "stands twice" } else { "is unknown" };
        Some((format!("column `{name}` {problem}"), hint))
    };
    header.iter().enumerate().find_map(stray)
}

/// Hosts that a list may name.
struct Hosts<'a> {
    count: u32,
    names: HashMap<&'a str, u32>,
}

impl<'a> Hosts<'a> {
    fn of(fabric: &'a Fabric) -> Self {
        let count = fabric.named_hosts();
        let names = fabric.nodes()[..count as usize].iter().map(|node| node.name.as_str());
        Self { count, names: names.zip(0..).collect() }
    }

    /// Host of a column: a number, or else a name.
    fn find(&self, row: &StringRecord, column: usize, name: &str) -> Result<u32, Fault> {
        let text = &row[column];
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if let Some(&host) = self.names.get(text).filter(|_| !is_number) {
            return Ok(host);
        }
        let last = u64::from(self.count).saturating_sub(1);
        let example = self.names.iter().min_by_key(|(_, host)| **host).map_or("host0", |(name, _)| name);
        let hint = format!("give a host from 0 to {last}, or its name, such as {example}");
        number(row, column, name, &hint, last).map(|host| host as u32)
    }
}

impl Columns {
    fn flow(
        &self,
        row: &StringRecord,
        index: usize,
        hosts: &Hosts<'_>,
        transport: u8,
    ) -> Result<Flow, Fault> {
        if number(row, self.id, "id", "digits only", u64::MAX)? != index as u64 {
            return Err((
                format!("column `id`: `{}` is row {index} of flows", &row[self.id]),
                "number the rows 0, 1, 2 and so on, in the order of the list".to_string(),
            ));
        }
        let (src, dst) = (hosts.find(row, self.src, "src")?, hosts.find(row, self.dst, "dst")?);
        if src == dst {
            return Err((format!("`src` and `dst` are both {src}"), "give two different hosts".to_string()));
        }
        let size_bytes =
            number(row, self.size_bytes, "size_bytes", "give whole bytes, at least 1", u64::MAX)?;
        if size_bytes == 0 {
            return Err(("column `size_bytes`: `0`".to_string(), "give at least one byte".to_string()));
        }
        let path = match self.path.filter(|&column| !row[column].is_empty()) {
            None => None,
            Some(column) => {
                let hint = "give the number of a path, counted from 0, or leave it empty";
                Some(number(row, column, "path", hint, u32::MAX.into())? as u32)
            }
        };
        let port = |column: Option<usize>, name| match column.filter(|&column| !row[column].is_empty()) {
            None => Ok(None),
            Some(column) => {
                let hint = "give a port from 1 to 65535, or leave it empty";
                match number(row, column, name, hint, u16::MAX.into())? {
                    0 => Err((format!("column `{name}`: `0`"), hint.to_string())),
                    port => Ok(NonZeroU16::new(port as u16)),
                }
            }
        };
        let ports =
            Ports { source: port(self.src_port, "src_port")?, destination: port(self.dst_port, "dst_port")? };
        let start = Start::At(picoseconds(&row[self.start_ns])?);
        Ok(Flow { src, dst, size_bytes, start, path, job: None, transport, ports })
    }
}

fn number(row: &StringRecord, column: usize, name: &str, hint: &str, most: u64) -> Result<u64, Fault> {
    let text = &row[column];
    let value = text.parse().ok().filter(|value| *value <= most);
    value.ok_or_else(|| (format!("column `{name}`: `{text}` is out of range"), hint.to_string()))
}

/// Reads nanoseconds with up to three decimals.
fn picoseconds(text: &str) -> Result<u64, Fault> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let value = (digits(whole) && digits(decimals) && decimals.len() <= 3)
        .then(|| Some((whole.parse::<u64>().ok()?, format!("{decimals:0<3}").parse::<u64>().ok()?)))
        .flatten()
        .and_then(|(ns, ps)| ns.checked_mul(1000)?.checked_add(ps));
    value.ok_or_else(|| {
        (
            format!("column `start_ns`: `{text}` is no time"),
            "give nanoseconds from the start of the simulation, with up to three decimals".to_string(),
        )
    })
}

/// Writes flows in the form of [`read_host_flows`]; the columns `path` and those of ports only if a flow has any.
///
/// # Errors
/// Fails at a flow that waits for another, because its start is unknown before it is simulated, and at a failing disk.
pub fn write_host_flows(flows: &[Flow], output: &mut impl Write) -> io::Result<()> {
    let optional = |flow: &Flow| -> [Option<u32>; 3] {
        let ports =
            [flow.ports.source, flow.ports.destination].map(|port| port.map(|port| port.get().into()));
        [flow.path, ports[0], ports[1]]
    };
    let is_written: [bool; 3] =
        std::array::from_fn(|at| flows.iter().any(|flow| optional(flow)[at].is_some()));
    write!(output, "id,src,dst,size_bytes,start_ns")?;
    for (name, _) in NAMES[5..].iter().zip(is_written).filter(|&(_, is_written)| is_written) {
        write!(output, ",{name}")?;
    }
    writeln!(output)?;
    for (id, flow) in flows.iter().enumerate() {
        let Start::At(at_ps) = flow.start else {
            let error = TrafficError::new(
                None,
                format!("flow {id} waits for another, and a list has times only"),
                "write the starts that a simulation gave, or leave such workloads out",
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
        };
        write!(output, "{id},{},{},{},{}", flow.src, flow.dst, flow.size_bytes, at_ps / 1000)?;
        if at_ps % 1000 != 0 {
            write!(output, ".{:03}", at_ps % 1000)?;
        }
        for (value, _) in optional(flow).into_iter().zip(is_written).filter(|&(_, is_written)| is_written) {
            write!(output, ",")?;
            if let Some(value) = value {
                write!(output, "{value}")?;
            }
        }
        writeln!(output)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_fabric::topology::LeafSpine;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Vec<Flow>, CsvError> {
        read_host_flows(text.as_bytes(), "flows.csv", &eight_hosts(), 0)
    }

    fn eight_hosts() -> Fabric {
        LeafSpine { leaves: 2, spines: 1, hosts_per_leaf: 4, ..LeafSpine::default() }.build().unwrap()
    }

    #[test]
    fn rows_become_flows() {
        let flows =
            read("id,src,dst,size_bytes,start_ns,path\n0,host3,4,1000,12,\n# late\n1, 7 ,host0,1,3.25,2\n")
                .unwrap();
        let flow = |src, dst, size_bytes, at_ps, path| Flow {
            src,
            dst,
            size_bytes,
            start: Start::At(at_ps),
            path,
            job: None,
            transport: 0,
            ports: Ports::CHOSEN,
        };
        assert_eq!(flows, [flow(3, 4, 1000, 12_000, None), flow(7, 0, 1, 3_250, Some(2))]);
    }

    #[test]
    fn errors_name_file_line_problem_and_mend() {
        for (row, parts) in [
            ("1,0,1,1,0", ["`id`: `1`", "0, 1, 2"]),
            ("0,8,1,1,0", ["`src`: `8`", "0 to 7, or its name, such as host0"]),
            ("0,0,host8,1,0", ["`dst`: `host8`", "0 to 7"]),
            ("0,leaf0,1,1,0", ["`src`: `leaf0`", "0 to 7"]),
            ("0,host5,5,1,0", ["both 5", "different"]),
            ("0,0,-1,1,0", ["`dst`: `-1`", "0 to 7"]),
            ("0,5,5,1,0", ["both 5", "different"]),
            ("0,0,1,0,0", ["`size_bytes`: `0`", "at least one"]),
            ("0,0,1,1e6,0", ["`size_bytes`: `1e6`", "whole bytes"]),
            ("0,0,1,1,-1", ["`start_ns`: `-1`", "nanoseconds"]),
            ("0,0,1,1,1.2345", ["`start_ns`: `1.2345`", "three decimals"]),
            ("0,0,1,1,18446744073709551615", ["`start_ns`", "nanoseconds"]),
            ("0,0,1,1", ["4 fields", "every row"]),
        ] {
            let error =
                read(&format!("id,src,dst,size_bytes,start_ns\n# first\n{row}\n")).unwrap_err().to_string();
            assert!(error.starts_with("flows.csv:3: "), "{error}");
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
        assert!(read("id,src,dst,size_bytes\n").unwrap_err().to_string().contains("no column `start_ns`"));
        assert!(read("id,src,dst,size_bytes,start_ns\n").unwrap_err().to_string().contains("no flow"));
    }

    #[test]
    fn columns_that_nothing_would_heed_are_refused() {
        for (column, expected) in [
            ("Path", "flows.csv:1: column `Path` is unknown; write it `path`"),
            (
                "prio",
                "flows.csv:1: column `prio` is unknown; leave it out; columns are id, src, dst, size_bytes, start_ns, path, src_port, dst_port",
            ),
            ("dst", "flows.csv:1: column `dst` stands twice; keep one of the two"),
        ] {
            let error =
                read(&format!("id,src,dst,size_bytes,start_ns,{column}\n0,0,2,1000,0,1\n")).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn ports_are_given_or_left_to_hosts() {
        let list =
            |ports: &str| format!("id,src,dst,size_bytes,start_ns,src_port,dst_port\n0,0,1,1,0,{ports}\n");
        let [source, destination] = [49_152, 4791].map(NonZeroU16::new);
        assert_eq!(read(&list("49152,4791")).unwrap()[0].ports, Ports { source, destination });
        assert_eq!(read(&list(",4791")).unwrap()[0].ports, Ports { source: None, destination });
        for wrong in ["0,", ",0", "65536,", "x,"] {
            let error = read(&list(wrong)).unwrap_err().to_string();
            assert!(error.contains("_port`: `") && error.contains("from 1 to 65535"), "{error}");
        }
    }

    #[test]
    fn a_flow_without_a_time_is_not_written() {
        let mut flows = read("id,src,dst,size_bytes,start_ns\n0,0,1,1,0\n1,0,1,1,0\n").unwrap();
        flows[1].start = Start::After { flow: 0, delay_ps: 0 };
        let error = write_host_flows(&flows, &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("flow 1 waits"), "{error}");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            rows in proptest::collection::vec((0u32..8, 1u32..8, 1u64.., 0u64.., any::<(Option<u32>, Option<NonZeroU16>, Option<NonZeroU16>)>()), 1..20)
        ) {
            let flows: Vec<Flow> = rows
                .into_iter()
                .map(|(src, step, size_bytes, at_ps, (path, source, destination))| Flow {
                    src,
                    dst: (src + step) % 8,
                    size_bytes,
                    start: Start::At(at_ps),
                    path,
                    job: None,
                    transport: 0,
                    ports: Ports { source, destination },
                })
                .collect();
            let mut text = Vec::new();
            write_host_flows(&flows, &mut text).unwrap();
            prop_assert_eq!(read_host_flows::<Vec<Flow>>(&text[..], "flows.csv", &eight_hosts(), 0).unwrap(), flows);
        }

        #[test]
        fn no_text_makes_it_panic(text in "(id,src,dst,size_bytes,start_ns\n)?([0-9.,\n]|[ -~]){0,60}") {
            let _ = read(&text);
        }
    }
}
