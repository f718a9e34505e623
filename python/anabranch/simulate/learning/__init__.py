"""Learning to balance: a scenario as an environment of gymnasium."""
