"""What a measurement needs to know about the machine it ran on, and the stopwatches that it was taken with."""
