"""Real connections over weighted paths, by every technique: tuples, traces, the splitter, the error of a split."""
