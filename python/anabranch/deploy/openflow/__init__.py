"""OpenFlow 1.5 as Open vSwitch speaks it: what a bridge holds as values, their bytes, and a connection.

The version is not a choice: only 1.5 carries `selection_method` of select groups (Netronome's extension, which Open
vSwitch implements); under 1.3 and 1.4 the switch drops it without a word. No kept library both writes these groups and
reads their descriptions back, so the codec is here; see `docs/dependencies.md`.
"""
