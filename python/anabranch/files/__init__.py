"""What every room uses: errors, units, terminal, settings, TOML, files and folders written whole."""
