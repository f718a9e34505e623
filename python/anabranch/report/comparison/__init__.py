"""Comparison: load balancers side by side, over loads, fabrics and seeds, with paired intervals."""
