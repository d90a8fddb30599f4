"""What must not be in a run: secrets in plain text, and rights that a cluster does not give."""
