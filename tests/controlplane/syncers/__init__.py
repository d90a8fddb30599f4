"""The syncers, each beside a control plane: what publish has written becomes true there."""
