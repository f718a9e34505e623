"""A lab's switches as datapaths of the kernel."""
