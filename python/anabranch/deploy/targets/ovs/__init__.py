"""Target `ovs`: bridges of Open vSwitch."""
