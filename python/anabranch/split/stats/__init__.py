"""Statistics of splits: error, its noise floor, confidence, hash quality."""
