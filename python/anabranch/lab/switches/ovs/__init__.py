"""A lab's switches as bridges of Open vSwitch."""
