"""Runs while they last: their fabric and progress on a page that only this machine can open."""
