"""Evidence: everything that a report reads, as one JSON document."""
