"""Traffic of a lab: flows over real TCP, bursts of many 5-tuples, and what kernels and ports counted."""
