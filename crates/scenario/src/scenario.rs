//! The whole scenario: what the user wrote, with every default.

use crate::section::change::Alteration;
use crate::section::fabric::Shape;
use crate::section::host::HostSetting;
use crate::section::measure::Measure;
use crate::section::record::Record;
use crate::section::routing::Routing;
use crate::section::switch::SwitchSetting;
use crate::section::traffic::Traffic;
use crate::section::{
    change, fabric, framing, host, measure, record, replay, routing, stop, traffic, transport,
};
use anabranch_form::Origin;
use anabranch_form::unit::{Text, Whole};
use anabranch_form::{Form, FormError, Position, Reader, Writer, document};
use anabranch_sim::transport::Transport;
use anabranch_sim::{Framing, Replay};
use std::path::Path;

/// A scenario as written, with every default, links and ports still by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Name of the scenario; that of the file where none is given.
    pub name: String,
    /// Fixes every random number.
    pub seed: u64,
    /// The fabric as built.
    pub fabric: Shape,
    /// Switches with classes of traffic; ports are FIFOs if `None`.
    pub switch: Option<SwitchSetting>,
    /// Changes during the run: links and switches that fail, slow, lose, and come back.
    pub changes: Vec<Alteration>,
    /// How switches spread.
    pub routing: Routing,
    /// Settings of end hosts.
    pub transport: Transport,
    /// The network card of every host.
    pub host: HostSetting,
    /// Which flows there are.
    pub traffic: Vec<Traffic>,
    /// Bytes around a payload.
    pub framing: Framing,
    /// When messages of graphs are replayed, if they are.
    pub replay: Option<Replay>,
    /// Records to write.
    pub record: Record,
    /// Window of the flows that count.
    pub measure: Measure,
    /// Whether another program sends, so that it may have no traffic of its own.
    pub(crate) driven: bool,
    pub(crate) end_ps: Option<u64>,
    pub(crate) fabric_origin: Origin,
    pub(crate) stop_origin: Origin,
    pub(crate) measure_origin: Origin,
}

impl Scenario {
    /// Reads `text`, which came from `file`; `overrides` are keys and values put in its stead, as in
    /// `("traffic.0.load", "0.8")`.
    ///
    /// # Errors
    /// What is wrong first, with its line or override, and the hint.
    pub fn parse(text: &str, file: &str, overrides: &[(String, String)]) -> Result<Self, FormError> {
        Self::parse_as(text, file, overrides, false)
    }

    /// Reads the scenario of a network that another program drives: it need not have traffic.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_driven(text: &str, file: &str, overrides: &[(String, String)]) -> Result<Self, FormError> {
        Self::parse_as(text, file, overrides, true)
    }

    fn parse_as(
        text: &str,
        file: &str,
        overrides: &[(String, String)],
        driven: bool,
    ) -> Result<Self, FormError> {
        let document = document::parse(text, file, overrides)?;
        let stem = Path::new(file).file_stem().and_then(|stem| stem.to_str());
        let mut scenario = Self { driven, ..Self::named(stem.unwrap_or("scenario")) };
        let mut reader = Reader::new(document, Position { source: file.into(), line: None });
        scenario.visit(&mut reader);
        reader.finish()?;
        Ok(scenario)
    }

    /// Reads as far as `text` makes sense, for programs that help to write it: what is wrong keeps its default.
    ///
    /// # Errors
    /// A text that is no TOML.
    pub fn draft(text: &str, file: &str) -> Result<Self, FormError> {
        let document = document::parse(text, file, &[])?;
        let mut scenario = Self::named("scenario");
        scenario.visit(&mut Reader::new(document, Position { source: file.into(), line: None }));
        Ok(scenario)
    }

    /// The defaults.
    pub(crate) fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            seed: 1,
            fabric: Shape::of_kind(fabric::KINDS[0]),
            switch: None,
            changes: Vec::new(),
            routing: Routing::default(),
            transport: transport::of_kind(transport::KINDS[0]),
            host: HostSetting::default(),
            traffic: Vec::new(),
            framing: Framing::ETHERNET,
            replay: None,
            record: Record::default(),
            measure: Measure::default(),
            driven: false,
            end_ps: None,
            fabric_origin: Origin::default(),
            stop_origin: Origin::default(),
            measure_origin: Origin::default(),
        }
    }

    /// The canonical text: every key with its value, in the order and the units of the reference page.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut writer = Writer::default();
        self.clone().visit(&mut writer);
        writer.finish()
    }

    /// Shows every key.
    pub(crate) fn visit(&mut self, form: &mut impl Form) {
        form.key(
            "name",
            Text { wants: "a name" },
            &mut self.name,
            "What it is called; folders of results are named after it.",
        );
        if self.name.contains(['/', '\\'])
            || self.name.starts_with('.')
            || self.name.contains(char::is_control)
        {
            let hint = "leave out slashes, and dots at the beginning".to_owned();
            form.refuse("name", "no name of a folder".to_owned(), hint);
        }
        form.key("seed", Whole::ANY, &mut self.seed, "Fixes every random number.");
        form.table("fabric", "The fabric as built.", |form| {
            fabric::visit(form, &mut self.fabric, &mut self.switch);
            form.origin(&mut self.fabric_origin);
        });
        form.tables(
            "change",
            &mut self.changes,
            "What happens to the fabric: failures, repairs, slow and lossy links, from the start or later.",
            Alteration::default,
            change::visit,
        );
        form.table(
            "routing",
            "How switches spread what they forward, and how fast they learn of changes.",
            |form| routing::visit(form, &mut self.routing),
        );
        form.table("transport", "What end hosts do.", |form| transport::visit(form, &mut self.transport));
        form.table("host", "The network card of every host.", |form| host::visit(form, &mut self.host));
        form.tables(
            "traffic",
            &mut self.traffic,
            "Which flows there are. At least one entry; several run side by side.",
            Traffic::default,
            traffic::visit,
        );
        if self.traffic.is_empty() && !self.driven {
            let hint = "add [[traffic]] with sizes, a load and a duration".to_owned();
            form.refuse("traffic", "missing: nothing would be sent".to_owned(), hint);
        }
        let traffic_end_ps = self.traffic.iter().map(Traffic::end_ps).max().unwrap_or(0);
        form.table(
            "framing",
            "Bytes around a payload: Ethernet, IPv4 and TCP with timestamps, where nothing else is said.",
            |form| framing::visit(form, &mut self.framing),
        );
        form.table("stop", "When the simulation ends.", |form| {
            stop::visit(form, &mut self.end_ps, traffic_end_ps);
            form.origin(&mut self.stop_origin);
        });
        form.optional_table(
            "replay",
            &mut self.replay,
            "Messages of graphs that repeat take as long as others like them did; without it all packets are simulated.",
            || replay::DEFAULT,
            replay::visit,
        );
        let is_graph = |one: &Traffic| matches!(one.demand, traffic::Demand::Graph(_));
        if self.replay.is_some() && !self.traffic.iter().any(is_graph) {
            let hint = "give [[traffic]] of kind = \"graph\", or leave out [replay]".to_owned();
            form.refuse("replay", "no graph sends messages that could repeat".to_owned(), hint);
        }
        form.table("record", "What is written down on the way, beside the table of flows.", |form| {
            record::visit(form, &mut self.record);
        });
        form.table(
            "measure",
            "Which flows count, by when they begin: in tables, figures, studies and verdicts. All, where nothing is said.",
            |form| {
                measure::visit(form, &mut self.measure);
                form.origin(&mut self.measure_origin);
            },
        );
    }
}
