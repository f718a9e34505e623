"""What the machine can forward, how long it takes, how long a failure interrupts: known before results are believed."""
