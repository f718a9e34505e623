"""Target `ebpf`: datapaths of a Linux kernel."""
