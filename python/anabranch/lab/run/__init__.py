"""A scenario run on the lab's fabric, its results, and the simulator's beside them."""
