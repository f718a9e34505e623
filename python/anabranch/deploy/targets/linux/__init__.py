"""Target `linux`: nexthop groups and routes of a kernel."""
