"""The agent: a Linux kernel that routes, for a controller on another machine."""
