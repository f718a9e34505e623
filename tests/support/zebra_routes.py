"""Routes as zebra says them: one of the kernel, two of BGP."""

ROUTES = """\
{"10.1.0.0/24": [{"protocol": "connected", "selected": true, "vrfName": "default", "nexthops": [
  {"fib": true, "interfaceName": "lo", "active": true}]}],
 "10.1.1.0/24": [{"protocol": "bgp", "selected": true, "vrfName": "default", "nexthops": [
  {"fib": true, "ip": "fe80::1", "afi": "ipv6", "interfaceName": "spine0", "active": true, "weight": 57},
  {"fib": true, "ip": "10.9.1.2", "afi": "ipv4", "interfaceName": "spine1", "active": true, "weight": 42}]}],
 "10.1.2.0/24": [{"protocol": "bgp", "selected": true, "vrfName": "default", "nexthops": [
  {"fib": true, "ip": "10.9.1.2", "afi": "ipv4", "interfaceName": "spine1", "active": true}]}]}
"""
PLANS = {"`show ip route json`": ROUTES}
"""File of each row of docs/bring-your-own.md that becomes a plan."""
