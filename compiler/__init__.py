"""The Runwright compiler: job declarations in, kustomize overlays of training objects out."""

__version__ = "0.1.0"
