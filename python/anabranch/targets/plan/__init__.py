"""What the plans of all targets share: groups, options, explanations, verdicts."""
