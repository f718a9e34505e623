"""Target `table`: tables of slots."""
