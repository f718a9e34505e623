"""Results as tables of the terminal and as plain data."""
