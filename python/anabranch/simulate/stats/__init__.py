"""Statistics of runs: completion times, steps, jobs, tiers, measures that people ask for."""
