"""Records of full runs, kept beside their studies."""
