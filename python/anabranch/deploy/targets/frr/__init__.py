"""Target `frr`: files for routers that run FRR, and plans compared with what bgpd, zebra and the kernel then have."""
