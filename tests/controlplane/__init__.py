"""Tests on a real control plane; its modules are imported as `controlplane.<module>`."""
