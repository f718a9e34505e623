"""Real switches and kernels: targets that a plan is put into, their protocols, a controller, labels of hosts."""
