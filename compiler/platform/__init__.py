"""What the platform needs on each cluster, made from policy: `overlays/<cluster>/platform/`."""
