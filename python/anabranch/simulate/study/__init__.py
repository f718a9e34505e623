"""Studies: one scenario over axes and seeds."""
