"""Explicit paths as SRv6 segments: files for Linux' seg6 and for SONiC's CONFIG_DB, from one table of paths."""
