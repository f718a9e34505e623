"""Support that several tests share, by topic."""
