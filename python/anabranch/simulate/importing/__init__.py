"""Topologies, flows and settings of other simulators and tools, brought into a scenario's folder."""
