"""Simulations: scenarios, runs, studies, schemes of one's own, learning."""
