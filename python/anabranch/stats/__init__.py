"""Statistics of splits: error, its noise floor, hash quality."""
