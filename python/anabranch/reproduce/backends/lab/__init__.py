"""What labs of studies share: runs kept as they end, evidence with the verdict on the machine, tables."""
