"""P4 switches: a program that sends packets by lists of next hops, and what each switch of a fabric holds for it."""
