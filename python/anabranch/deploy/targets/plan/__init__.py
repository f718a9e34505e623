"""Plans of all targets: groups, options, explanations, verdicts."""
