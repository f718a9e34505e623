"""Cables between switches: LLDP frames by which each port learns who is at its other end."""
