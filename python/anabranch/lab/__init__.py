"""Real switches, kernels and TCP on one machine."""
