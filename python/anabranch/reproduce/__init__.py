"""Published evaluations run again: what the paper says, what comes out, what theory allows, and why they differ."""
