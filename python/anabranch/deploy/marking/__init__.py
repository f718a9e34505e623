"""Labels that hosts write into packets."""
