"""A controller of Open vSwitch fabrics: learns ports, plans, applies the difference, and tells what it did."""
