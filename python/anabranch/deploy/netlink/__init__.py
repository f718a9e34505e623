"""Linux nexthops, nexthop groups and routes as values, their messages, a connection to the kernel, namespaces."""
