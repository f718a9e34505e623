"""Plans on real switches: rendered into what a switch holds, compared with what it has, applied, verified, removed."""
