"""What the platform team writes: the models of `policy/`."""
