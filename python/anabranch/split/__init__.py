"""The main job: real connections over weighted paths, by every technique."""
