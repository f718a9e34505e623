"""Where a split is installed: what each target makes of weights, and how it chooses a path for a connection."""
