"""A controller of fabrics: learns ports, plans, applies the difference, and tells what it did."""
