"""Services of systemd: units for what runs all the time, with the fewest rights, and what they report to it."""
