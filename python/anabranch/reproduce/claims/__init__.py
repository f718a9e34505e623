"""What a study states: its folder, its claims, and how each is measured."""
