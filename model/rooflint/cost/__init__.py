"""Cost: prices of devices and electricity, and carbon."""
