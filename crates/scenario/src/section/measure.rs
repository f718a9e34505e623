//! `[measure]`: which flows count.

use anabranch_form::Form;
use anabranch_form::unit::{Time, Unit};
use anabranch_sim::Window;

/// The window as written: an end that is not said is the run's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Measure {
    /// Start, in picoseconds.
    pub from_ps: Option<u64>,
    /// End, in picoseconds.
    pub to_ps: Option<u64>,
}

impl Measure {
    /// The window itself.
    #[must_use]
    pub fn window(self) -> Window {
        Window { from_ps: self.from_ps.unwrap_or(0), to_ps: self.to_ps.unwrap_or(u64::MAX) }
    }
}

/// The keys.
pub(crate) fn visit(form: &mut impl Form, measure: &mut Measure) {
    form.optional(
        "from",
        Time,
        &mut measure.from_ps,
        "Start of the window: flows that begin before it warm the fabric up and are in no statistic. Default: the start.",
    );
    form.optional(
        "to",
        Time,
        &mut measure.to_ps,
        "End of the window: flows that begin then or later keep the load up and are in no statistic. Default: none.",
    );
    let Window { from_ps, to_ps } = measure.window();
    if to_ps <= from_ps {
        let key = if measure.to_ps.is_some() { "to" } else { "from" };
        let problem = format!("the window would end before it starts, at {}", plain(from_ps));
        form.refuse(key, problem, format!("give a time beyond {}", plain(from_ps)));
    }
}

fn plain(ps: u64) -> String {
    Time.write(&ps).trim_matches('"').to_owned()
}
