//! Cumulative distribution of flow sizes, and two conventions of drawing from one.

use crate::csv_rows::{CsvError, CsvRows, Fault};
use crate::random::Stream;
use std::io::Read;

/// Largest size in bytes: beyond it doubles no longer hold every whole number.
const BYTES_MAX: f64 = (1u64 << 53) as f64;
/// Form of a file of sizes, as errors describe it.
const FORM: &str =
    "begin with the line size_bytes,cdf and give a size and the share of flows up to it per row";

/// Convention by which a size is drawn between two knots. The mean, hence the rate of arrivals at a load, depends on
/// it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Convention {
    /// Draws uniformly between the knots (TrafficGenerator, the CONGA family of ns-3 simulations, HPCC, ConWeave).
    #[default]
    Linear,
    /// Draws always the upper knot (Homa, netbench).
    Step,
}

impl Convention {
    /// All conventions.
    pub const ALL: [Self; 2] = [Self::Linear, Self::Step];

    /// Name of the convention, as users write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Step => "step",
        }
    }
}

/// Size, and the share of flows that are no larger.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Knot {
    bytes: f64,
    share: f64,
}

/// Cumulative distribution of flow sizes. The share at the first knot is that of flows of exactly its size.
#[derive(Clone, Debug, PartialEq)]
pub struct Cdf {
    /// Knots by ascending size and share; the last share is 1.
    knots: Vec<Knot>,
    convention: Convention,
}

impl Cdf {
    /// Reads CSV with the columns `size_bytes` and `cdf`; lines that start with `#` are comments, and columns of other
    /// names are ignored. `file` names it in errors.
    ///
    /// # Errors
    /// Refuses a header without these columns, and the first row that does not continue a cumulative distribution.
    pub fn read(input: impl Read, file: &str, convention: Convention) -> Result<Self, CsvError> {
        let mut rows = CsvRows::new(input, file)?;
        let (size, cdf) = (rows.required("size_bytes", FORM)?, rows.required("cdf", FORM)?);
        let mut knots = Vec::new();
        while let Some(row) = rows.read()? {
            let knot = next_knot(&row[size], &row[cdf], knots.last());
            knots.push(knot.map_err(|fault| rows.fault(fault))?);
        }
        let fault = match knots.last() {
            None => ("no row of sizes".to_string(), FORM),
            Some(last) if last.share != 1.0 => {
                (format!("the last `cdf` is {}", last.share), "end with the largest size and cdf 1")
            }
            Some(last) if last.bytes < 1.0 => {
                (format!("the largest `size_bytes` is {}", last.bytes), "give sizes of at least one byte")
            }
            Some(_) => return Ok(Self { knots, convention }),
        };
        Err(rows.fault_of_file((fault.0, fault.1.to_string())))
    }

    /// Convention by which sizes are drawn.
    #[must_use]
    pub fn convention(&self) -> Convention {
        self.convention
    }

    /// The same knots with another convention.
    #[must_use]
    pub fn with(mut self, convention: Convention) -> Self {
        self.convention = convention;
        self
    }

    /// Draws a flow size in whole bytes, rounded down, at least one.
    pub fn draw_bytes(&self, stream: &mut Stream) -> u64 {
        let u = stream.unit();
        let above = self.knots.partition_point(|knot| knot.share <= u);
        let high = self.knots[above];
        let bytes = match (self.convention, above.checked_sub(1)) {
            (Convention::Step, _) | (Convention::Linear, None) => high.bytes,
            (Convention::Linear, Some(below)) => {
                let low = self.knots[below];
                low.bytes + (high.bytes - low.bytes) * (u - low.share) / (high.share - low.share)
            }
        };
        (bytes as u64).max(1)
    }

    /// Mean of the distribution in bytes, before sizes are rounded down to whole bytes.
    #[must_use]
    pub fn mean_bytes(&self) -> f64 {
        let first = self.knots[0];
        let rest = self.knots.windows(2).map(|pair| {
            let drawn = match self.convention {
                Convention::Linear => f64::midpoint(pair[0].bytes, pair[1].bytes),
                Convention::Step => pair[1].bytes,
            };
            (pair[1].share - pair[0].share) * drawn
        });
        first.share * first.bytes + rest.sum::<f64>()
    }

    /// Share of flows of at most `bytes`.
    #[must_use]
    pub fn share(&self, bytes: f64) -> f64 {
        let above = self.knots.partition_point(|knot| knot.bytes <= bytes);
        match (above.checked_sub(1).map(|below| self.knots[below]), self.knots.get(above)) {
            (None, _) => 0.0,
            (Some(_), None) => 1.0,
            (Some(low), Some(high)) => match self.convention {
                Convention::Step => low.share,
                Convention::Linear => {
                    low.share + (high.share - low.share) * (bytes - low.bytes) / (high.bytes - low.bytes)
                }
            },
        }
    }

    /// Smallest size in bytes that at least this share of flows does not exceed.
    #[must_use]
    pub fn quantile_bytes(&self, share: f64) -> f64 {
        let above = self.knots.partition_point(|knot| knot.share < share).min(self.knots.len() - 1);
        let high = self.knots[above];
        match (self.convention, above.checked_sub(1)) {
            (Convention::Step, _) | (Convention::Linear, None) => high.bytes,
            (Convention::Linear, Some(below)) => {
                let low = self.knots[below];
                low.bytes + (high.bytes - low.bytes) * (share - low.share) / (high.share - low.share)
            }
        }
    }
}

fn next_knot(size: &str, cdf: &str, before: Option<&Knot>) -> Result<Knot, Fault> {
    let number = |column: &str, text: &str, most: f64, hint: &str| {
        let value: Option<f64> = text.parse().ok().filter(|value| (0.0..=most).contains(value));
        value.ok_or_else(|| (format!("column `{column}`: `{text}` is out of range"), hint.to_string()))
    };
    let bytes = number("size_bytes", size, BYTES_MAX, "give a number of bytes from 0 to 2^53")?;
    let share = number("cdf", cdf, 1.0, "give a share from 0 to 1; divide percentages by 100")?;
    match before {
        Some(before) if bytes < before.bytes || share < before.share => Err((
            format!("{size},{cdf} is below the row before, {},{}", before.bytes, before.share),
            "sort the rows by size, with shares that never fall".to_string(),
        )),
        _ => Ok(Knot { bytes, share }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Cdf, CsvError> {
        Cdf::read(text.as_bytes(), "sizes.csv", Convention::Linear)
    }

    #[test]
    fn faults_are_named_with_file_line_and_mend() {
        for (text, line, part) in [
            ("size,cdf\n1,1\n", ":1", "no column `size_bytes`"),
            ("size_bytes,share\n1,1\n", ":1", "no column `cdf`"),
            ("size_bytes,cdf\n", "", "no row"),
            ("size_bytes,cdf\n10,0.5\n20,0.9\n", "", "the last `cdf` is 0.9"),
            ("size_bytes,cdf\n10,0.5\n20,100\n", ":3", "divide percentages by 100"),
            ("size_bytes,cdf\n10,0.5\n\n9,1\n", ":4", "9,1 is below the row before, 10,0.5"),
            ("size_bytes,cdf\n10,0.5\n20,0.4\n30,1\n", ":3", "never fall"),
            ("size_bytes,cdf\n10 KB,1\n", ":2", "`10 KB` is out of range"),
            ("size_bytes,cdf\nnan,1\n", ":2", "`nan` is out of range"),
            ("size_bytes,cdf\n10\n", ":2", "1 fields where the header has 2"),
            ("size_bytes,cdf\n0,1\n", "", "at least one byte"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("sizes.csv{line}: ")), "{error}");
            assert!(error.contains(part), "{part} is not in: {error}");
        }
    }

    #[test]
    fn a_share_at_the_first_knot_is_of_its_size() {
        let cdf = read("\u{feff}cdf,size_bytes\n# half of all flows\n0.5,100\n1,300\n").unwrap();
        assert_eq!(cdf.mean_bytes(), 0.5 * 100.0 + 0.5 * 200.0);
        assert_eq!(cdf.clone().with(Convention::Step).mean_bytes(), 0.5 * 100.0 + 0.5 * 300.0);
        let mut stream = Stream::new(1, "test of sizes");
        let smallest = (0..10_000).filter(|_| cdf.draw_bytes(&mut stream) == 100).count();
        assert!(smallest.abs_diff(5_000) < 250, "{smallest}");
    }

    proptest! {
        #[test]
        fn quantile_and_share_are_inverse_and_draws_stay_inside(
            mut sizes in proptest::collection::vec(1u32..1_000_000, 2..20), seed in any::<u64>(), share in 0.0..1.0f64,
        ) {
            sizes.sort_unstable();
            sizes.dedup();
            let n = sizes.len();
            let rows: Vec<String> =
                sizes.iter().enumerate().map(|(i, size)| format!("{size},{}", (i + 1) as f64 / n as f64)).collect();
            let cdf = read(&format!("size_bytes,cdf\n{}\n", rows.join("\n"))).unwrap();
            prop_assert!((cdf.share(cdf.quantile_bytes(share)) - share.max(1.0 / n as f64)).abs() < 1e-9);
            let mut stream = Stream::new(seed, "test of sizes");
            for convention in Convention::ALL {
                let drawn = cdf.clone().with(convention).draw_bytes(&mut stream);
                prop_assert!((u64::from(sizes[0])..=u64::from(sizes[n - 1])).contains(&drawn));
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in "(size_bytes,cdf\n)?([0-9.,\n]|[ -~]){0,60}") {
            let _ = read(&text);
        }
    }
}
