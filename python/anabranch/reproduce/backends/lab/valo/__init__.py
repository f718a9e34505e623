"""VALO (Yoo et al., POMACS 2025) on an unmodified Open vSwitch and over datapaths in the kernel."""
