"""The syncers' own objects on each cluster, made from policy: `overlays/<cluster>/sync/`.

A syncer is a module with the name of its key under `sync:` in a cluster's file. It has
``home(setting)``, the namespace of the accounts that it acts as, and
``files(setting, site) -> Written``.
"""
