"""Linux nexthops, nexthop groups and routes as values, their netlink messages, and a connection to the kernel."""
