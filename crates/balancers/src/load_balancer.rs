//! A load balancer that decides beside, or instead of, the tables of the switches.

use crate::descriptor::{Descriptor, Elsewhere};
use crate::pair_plan::PairPlanner;
use crate::task::Task;
use anabranch_fabric::{Fabric, LinkState};
use anabranch_form::AnyKeys;
use anabranch_sim::{Outcome, SimulationError};
use std::any::Any;
use std::fmt;

/// A load balancer with its parameters.
pub trait LoadBalancer: fmt::Debug + Send + Sync {
    /// Entry of the registry under which these parameters stand.
    fn descriptor(&self) -> &'static Descriptor;

    /// Bits of [`anabranch_split::capability`] that it cannot do without.
    fn needs(&self) -> u32;

    /// State of other nodes that it reads with these parameters. Default: what its descriptor says.
    fn reads_elsewhere(&self) -> Option<Elsewhere> {
        self.descriptor().reads_elsewhere
    }

    /// Shows the keys of `[routing.scheme]`.
    fn visit(&mut self, _keys: &mut AnyKeys<'_>) {}

    /// Whether it decides before the first flow begins by all that are to come, so that no program can send others.
    fn reads_flows_to_come(&self) -> bool {
        false
    }

    /// Whether parts of a fabric may be simulated by it on a thread each. Default: if it reads no state of other parts. Parts
    /// give connections other names, and hear of a flow that begins elsewhere after it has begun: nothing that it decides may
    /// depend on either.
    fn runs_in_parts(&self) -> bool {
        self.reads_elsewhere().is_none()
    }

    /// Whether packets follow the table of explicit paths of the settings, if there is one.
    fn follows_paths(&self) -> bool {
        false
    }

    /// Sentences about this fabric, with its links as they are when a run begins, that its user should read before.
    fn warnings(&self, _fabric: &Fabric, _links: &LinkState) -> Vec<String> {
        Vec::new()
    }

    /// Its controller, if that plans for a pair of leaves before any packet is sent.
    fn pair_planner(&self) -> Option<&dyn PairPlanner> {
        None
    }

    /// Simulates the task.
    ///
    /// # Errors
    /// A fabric that it does not take, and weights that it cannot hold.
    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError>;
}

/// A [`LoadBalancer`] that can be copied and compared behind a pointer.
trait Value: LoadBalancer {
    fn copy(&self) -> Box<dyn Value>;
    fn equals(&self, other: &dyn Value) -> bool;
    fn any(&self) -> &dyn Any;
    fn any_mut(&mut self) -> &mut dyn Any;
}

impl<T: LoadBalancer + Clone + PartialEq + 'static> Value for T {
    fn copy(&self) -> Box<dyn Value> {
        Box::new(self.clone())
    }

    fn equals(&self, other: &dyn Value) -> bool {
        other.any().downcast_ref::<T>() == Some(self)
    }

    fn any(&self) -> &dyn Any {
        self
    }

    fn any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// Load balancer that decides beside, or instead of, the tables of the switches; nothing does under
/// [`Scheme::TABLES`].
pub struct Scheme(Option<Box<dyn Value>>);

impl Scheme {
    /// Tables alone.
    pub const TABLES: Self = Self(None);

    /// A load balancer with these parameters.
    pub fn new(parameters: impl LoadBalancer + Clone + PartialEq + 'static) -> Self {
        Self(Some(Box::new(parameters)))
    }

    /// Whether tables decide alone.
    #[must_use]
    pub fn is_tables(&self) -> bool {
        self.0.is_none()
    }

    /// The load balancer, unless tables decide alone.
    #[must_use]
    pub fn get(&self) -> Option<&dyn LoadBalancer> {
        self.0.as_deref().map(|value| value as &dyn LoadBalancer)
    }

    /// The load balancer to change, unless tables decide alone.
    pub fn get_mut(&mut self) -> Option<&mut dyn LoadBalancer> {
        self.0.as_deref_mut().map(|value| value as &mut dyn LoadBalancer)
    }

    /// The parameters, if they are of this type.
    #[must_use]
    pub fn parameters<T: 'static>(&self) -> Option<&T> {
        self.0.as_deref().and_then(|value| value.any().downcast_ref())
    }

    /// The parameters to change, if they are of this type.
    pub(crate) fn parameters_mut<T: 'static>(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut().and_then(|value| value.any_mut().downcast_mut())
    }
}

impl Clone for Scheme {
    fn clone(&self) -> Self {
        Self(self.0.as_deref().map(Value::copy))
    }
}

impl PartialEq for Scheme {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(one), Some(other)) => one.equals(&**other),
            _ => false,
        }
    }
}

impl fmt::Debug for Scheme {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => out.write_str("Tables"),
            Some(value) => fmt::Debug::fmt(value, out),
        }
    }
}
