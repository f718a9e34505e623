"""HTML pages of runs, studies and splits, one file each."""
