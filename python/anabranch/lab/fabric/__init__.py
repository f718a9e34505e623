"""The lab's fabric: namespaces, links and switches, made from a scenario, found again, and removed whole."""
