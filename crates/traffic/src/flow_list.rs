//! Flow lists: CSV files with one 5-tuple per row, for users with flow records and no capture.

use crate::csv_rows::{CsvError, CsvRows, Fault};
use crate::{Headers, PacketRecord};
use anabranch_split::{FiveTuple, protocol};
use csv::StringRecord;
use std::io::Read;
use std::net::IpAddr;

/// Field of a row, and the names that flow exporters give it. Case, spaces, `-` and `.` do not matter.
struct Column {
    name: &'static str,
    synonyms: &'static [&'static str],
    required: bool,
}

/// Fields of a row, in the order of [`Positions`].
const COLUMNS: [Column; 7] = [
    Column {
        name: "src",
        synonyms: &["src_ip", "src_addr", "srcaddr", "source", "source_ip", "source_address", "ip_src", "sa"],
        required: true,
    },
    Column {
        name: "dst",
        synonyms: &[
            "dst_ip",
            "dst_addr",
            "dstaddr",
            "destination",
            "destination_ip",
            "destination_address",
            "ip_dst",
            "da",
        ],
        required: true,
    },
    Column { name: "proto", synonyms: &["protocol", "ip_proto", "ip_protocol", "pr"], required: true },
    Column { name: "sport", synonyms: &["src_port", "srcport", "source_port", "sp"], required: true },
    Column { name: "dport", synonyms: &["dst_port", "dstport", "destination_port", "dp"], required: true },
    Column { name: "bytes", synonyms: &["size", "size_bytes", "octets", "ibyt", "n_bytes"], required: false },
    Column { name: "time_ns", synonyms: &["timestamp_ns", "start_ns", "first_ns"], required: false },
];

/// Column of each of [`COLUMNS`] in the header, if it has one.
type Positions = [Option<usize>; COLUMNS.len()];

/// IANA names of protocols that flow records carry; any other protocol is written as its number.
const PROTOCOL_NAMES: [(&str, u8); 14] = [
    ("icmp", protocol::ICMP),
    ("igmp", 2),
    ("tcp", protocol::TCP),
    ("udp", protocol::UDP),
    ("dccp", 33),
    ("gre", 47),
    ("esp", 50),
    ("ah", 51),
    ("icmpv6", protocol::ICMPV6),
    ("icmp6", protocol::ICMPV6),
    ("ipv6-icmp", protocol::ICMPV6),
    ("ospf", 89),
    ("sctp", protocol::SCTP),
    ("udplite", 136),
];

/// Reader of a flow list, row by row, in constant memory.
pub struct FlowListReader {
    rows: CsvRows<Box<dyn Read + Send>>,
    positions: Positions,
    /// Error that follows the records already returned.
    held: Option<CsvError>,
    ended: bool,
}

impl std::fmt::Debug for FlowListReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FlowListReader").field("positions", &self.positions).finish_non_exhaustive()
    }
}

impl FlowListReader {
    /// Reads the header of `input`, which is already decompressed; `file` names it in errors. Lines that start with `#`
    /// are comments, and columns of other names are ignored.
    ///
    /// # Errors
    /// Refuses a header without a source, destination, protocol or port, or with one of them twice.
    pub fn new(input: Box<dyn Read + Send>, file: &str) -> Result<Self, CsvError> {
        let rows = CsvRows::new(input, file)?;
        let positions = positions(rows.header()).map_err(|fault| rows.fault(fault))?;
        Ok(Self { rows, positions, held: None, ended: false })
    }

    /// Whether rows carry bytes. Without them every row counts as one byte.
    #[must_use]
    pub fn has_bytes(&self) -> bool {
        self.positions[5].is_some()
    }

    /// Whether rows carry a time. Without it every row has time zero.
    #[must_use]
    pub fn has_times(&self) -> bool {
        self.positions[6].is_some()
    }

    /// Replaces `records` by those of the next `limit` rows (at least one), or fewer at the end, in the order of the
    /// file. False at the end, with no records.
    ///
    /// # Errors
    /// Fails at a row that is no flow, text that is not UTF-8, or a failing disk, after all records before it were
    /// returned. The reader is then at its end.
    pub fn next_batch(&mut self, records: &mut Vec<PacketRecord>, limit: usize) -> Result<bool, CsvError> {
        records.clear();
        if let Some(error) = self.held.take() {
            return Err(error);
        }
        while !self.ended && records.len() < limit.max(1) {
            match self.next_row() {
                Ok(Some(record)) => records.push(record),
                Ok(None) => self.ended = true,
                Err(error) => {
                    self.ended = true;
                    if records.is_empty() {
                        return Err(error);
                    }
                    self.held = Some(error);
                }
            }
        }
        Ok(!records.is_empty())
    }

    fn next_row(&mut self) -> Result<Option<PacketRecord>, CsvError> {
        let Some(row) = self.rows.read()? else { return Ok(None) };
        let record = Fields { positions: &self.positions, row }.record();
        record.map(Some).map_err(|fault| self.rows.fault(fault))
    }
}

/// Column name in lower case, without the characters in which exporters vary.
fn plain(name: &str) -> String {
    name.trim_start_matches('\u{feff}').trim().to_ascii_lowercase().replace([' ', '-', '.'], "_")
}

fn positions(header: &StringRecord) -> Result<Positions, Fault> {
    let wanted = "begin the list with the line src,dst,proto,sport,dport and, if known, bytes and time_ns";
    let mut positions = Positions::default();
    for (at, name) in header.iter().enumerate() {
        let name = plain(name);
        let known = COLUMNS.iter().position(|c| c.name == name || c.synonyms.contains(&name.as_str()));
        if let Some(column) = known
            && let Some(first) = positions[column].replace(at)
        {
            return Err((
                format!(
                    "columns `{}` and `{}` both mean `{}`",
                    &header[first], &header[at], COLUMNS[column].name
                ),
                "rename or drop one of them".to_string(),
            ));
        }
    }
    let missing = COLUMNS.iter().zip(positions).find(|(column, at)| column.required && at.is_none());
    match missing {
        None => Ok(positions),
        Some(_) if header.is_empty() => Err(("the list is empty".to_string(), wanted.to_string())),
        Some((column, _)) => Err((format!("the header has no column `{}`", column.name), wanted.to_string())),
    }
}

/// One row under its header.
struct Fields<'a> {
    positions: &'a Positions,
    row: &'a StringRecord,
}

impl Fields<'_> {
    fn text(&self, column: usize) -> &str {
        self.positions[column].and_then(|at| self.row.get(at)).unwrap_or("").trim()
    }

    fn fault(&self, column: usize, why: &str, hint: &str) -> Fault {
        (format!("column `{}`: `{}` {why}", COLUMNS[column].name, self.text(column)), hint.to_string())
    }

    fn address(&self, column: usize) -> Result<IpAddr, Fault> {
        self.text(column).parse().map_err(|_| {
            self.fault(
                column,
                "is no address",
                "write IPv4 as 10.0.0.1 and IPv6 as 2001:db8::1, without a zone",
            )
        })
    }

    fn protocol(&self) -> Result<u8, Fault> {
        let text = self.text(2);
        let named = PROTOCOL_NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        named.map(|&(_, number)| number).or_else(|| text.parse().ok()).ok_or_else(|| {
            self.fault(2, "is no protocol", "write tcp, udp, sctp, icmp, icmpv6 or a number from 0 to 255")
        })
    }

    fn port(&self, column: usize, protocol: u8) -> Result<u16, Fault> {
        let has_ports = [protocol::TCP, protocol::UDP, protocol::SCTP].contains(&protocol);
        match self.text(column) {
            "" if !has_ports => Ok(0),
            text => {
                text.parse().map_err(|_| self.fault(column, "is no port", "give a number from 0 to 65535"))
            }
        }
    }

    /// Reads a whole number, or returns `absent` if the list has no such column.
    fn number(&self, column: usize, absent: u64, hint: &str) -> Result<u64, Fault> {
        match self.positions[column] {
            None => Ok(absent),
            Some(_) => self.text(column).parse().map_err(|_| self.fault(column, "is no whole number", hint)),
        }
    }

    fn record(&self) -> Result<PacketRecord, Fault> {
        let (source, destination) = (self.address(0)?, self.address(1)?);
        let protocol = self.protocol()?;
        let (sport, dport) = (self.port(3, protocol)?, self.port(4, protocol)?);
        let tuple = match (source, destination) {
            (IpAddr::V4(s), IpAddr::V4(d)) => FiveTuple::v4(s.octets(), d.octets(), protocol, sport, dport),
            (IpAddr::V6(s), IpAddr::V6(d)) => FiveTuple::v6(s.octets(), d.octets(), protocol, sport, dport),
            _ => {
                return Err(self.fault(
                    1,
                    "is of another IP version than `src`",
                    "give both as IPv4 or as IPv6",
                ));
            }
        };
        let bytes = self.number(5, 1, "give bytes as digits only, as in 1500")?;
        let time_ns = self.number(6, 0, "give nanoseconds since 1970 as digits only")?;
        Ok(PacketRecord { time_ns, bytes, tuple, headers: Headers::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn open(text: &str) -> Result<FlowListReader, CsvError> {
        FlowListReader::new(Box::new(std::io::Cursor::new(text.to_string().into_bytes())), "flows.csv")
    }

    fn all(text: &str) -> Result<Vec<PacketRecord>, CsvError> {
        let (mut reader, mut records, mut batch) = (open(text)?, Vec::new(), Vec::new());
        while reader.next_batch(&mut batch, 2)? {
            records.append(&mut batch);
        }
        Ok(records)
    }

    #[test]
    fn rows_become_records() {
        let records = all("src,dst,proto,sport,dport,bytes,time_ns\n\
            10.0.0.1,10.0.0.2,tcp,40000,80,1500,7\n\
            # a comment\n\
            2001:db8::1, 2001:db8::2 ,17,53,5353,90,8\n\
            10.0.0.1,10.0.0.2,ICMP,,,64,9\n")
        .unwrap();
        let six = |last| [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
        let expected = [
            (7, 1500, FiveTuple::v4([10, 0, 0, 1], [10, 0, 0, 2], 6, 40000, 80)),
            (8, 90, FiveTuple::v6(six(1), six(2), 17, 53, 5353)),
            (9, 64, FiveTuple::v4([10, 0, 0, 1], [10, 0, 0, 2], 1, 0, 0)),
        ];
        let expected = expected.map(|(time_ns, bytes, tuple)| PacketRecord {
            time_ns,
            bytes,
            tuple,
            headers: Headers::default(),
        });
        assert_eq!(records, expected);
    }

    #[test]
    fn exporters_name_columns_as_they_like() {
        let text = "\u{feff}start,Src IP,Dst-IP,ip.proto,srcport,Destination Port,SIZE_BYTES\n\
            x,10.0.0.1,10.0.0.2,6,1,2,3\n";
        let reader = open(text).unwrap();
        assert!(reader.has_bytes() && !reader.has_times());
        let record = all(text).unwrap()[0];
        let tuple = FiveTuple::v4([10, 0, 0, 1], [10, 0, 0, 2], 6, 1, 2);
        assert_eq!(record, PacketRecord { time_ns: 0, bytes: 3, tuple, headers: Headers::default() });
        assert_eq!(all("sa,da,pr,sp,dp\n10.0.0.1,10.0.0.2,UDP,1,2\n").unwrap()[0].bytes, 1);
    }

    #[test]
    fn errors_name_file_line_column_value_and_mend() {
        let row = |row: &str| {
            all(&format!("src,dst,proto,sport,dport,bytes\n10.0.0.1,10.0.0.2,tcp,1,2,3\n{row}\n"))
                .unwrap_err()
                .to_string()
        };
        for (text, parts) in [
            ("10.0.0.256,10.0.0.2,tcp,1,2,3", ["`src`", "`10.0.0.256` is no address", "10.0.0.1"]),
            ("10.0.0.1,::1,tcp,1,2,3", ["`dst`", "`::1` is of another IP version", "both"]),
            ("10.0.0.1,10.0.0.2,tpc,1,2,3", ["`proto`", "`tpc` is no protocol", "tcp"]),
            ("10.0.0.1,10.0.0.2,256,1,2,3", ["`proto`", "`256`", "0 to 255"]),
            ("10.0.0.1,10.0.0.2,tcp,65536,2,3", ["`sport`", "`65536` is no port", "0 to 65535"]),
            ("10.0.0.1,10.0.0.2,tcp,1,,3", ["`dport`", "`` is no port", "0 to 65535"]),
            ("10.0.0.1,10.0.0.2,tcp,1,2,1e3", ["`bytes`", "`1e3` is no whole number", "digits"]),
            ("10.0.0.1,10.0.0.2,tcp,1,2", ["5 fields", "header has 6", "every row"]),
        ] {
            let error = row(text);
            assert!(error.starts_with("flows.csv:3: "), "{error}");
            for part in parts {
                assert!(error.contains(part), "{part} is not in: {error}");
            }
        }
    }

    #[test]
    fn headers_that_cannot_be_understood() {
        let error = |text| open(text).unwrap_err().to_string();
        assert!(error("").contains("empty"));
        assert!(error("10.0.0.1,10.0.0.2,6,1,2\n").contains("flows.csv:1: the header has no column `src`"));
        assert!(error("src,dst,proto,sport\n").contains("no column `dport`"));
        assert!(error("src,dst,proto,sport,dport,src_ip\n").contains("`src` and `src_ip` both mean `src`"));
    }

    #[test]
    fn records_before_an_error_are_returned() {
        let mut reader =
            open("src,dst,proto,sport,dport\n10.0.0.1,10.0.0.2,6,1,2\n10.0.0.1,10.0.0.2,6,1,x\n").unwrap();
        let mut records = Vec::new();
        assert!(reader.next_batch(&mut records, 100).unwrap());
        assert_eq!(records.len(), 1);
        assert!(reader.next_batch(&mut records, 100).is_err());
        assert!(!reader.next_batch(&mut records, 100).unwrap());
        assert!(records.is_empty());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            rows in proptest::collection::vec((any::<[u8; 4]>(), any::<[u8; 4]>(), any::<(u8, u16, u16, u64, u64)>()), 0..40)
        ) {
            let mut text = "src,dst,proto,sport,dport,bytes,time_ns\n".to_string();
            let mut expected = Vec::new();
            for (source, destination, (protocol, sport, dport, bytes, time_ns)) in rows {
                let (s, d) = (IpAddr::from(source), IpAddr::from(destination));
                text += &format!("{s},{d},{protocol},{sport},{dport},{bytes},{time_ns}\n");
                let tuple = FiveTuple::v4(source, destination, protocol, sport, dport);
                expected.push(PacketRecord { time_ns, bytes, tuple, headers: Headers::default() });
            }
            prop_assert_eq!(all(&text).unwrap(), expected);
        }

        #[test]
        fn no_text_makes_it_panic(text in "(src,dst,proto,sport,dport\n)?[ -~\n\"]{0,200}") {
            let _ = all(&text);
        }
    }
}
