"""Acceptance statistics of a split over any switch: bounds, flows, power, and a verdict on counters."""
