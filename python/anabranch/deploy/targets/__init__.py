"""Targets: switches and kernels that a plan is put into, one folder each."""
