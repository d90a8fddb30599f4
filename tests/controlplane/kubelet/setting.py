"""What one container is started with: words, variables and folders, from the Pod object alone."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from controlplane.kubelet.expansion import Lookup, environment, words
from controlplane.kubelet.images import Image, Images, base
from controlplane.kubelet.localpaths import LocalPaths
from controlplane.kubelet.mounts import Mounts
from controlplane.kubelet.names import Neighbours, Network

Object = dict[str, Any]
# Of the API server's own Service, which the kubelet tells every container of.
SERVER = {
    "KUBERNETES_SERVICE_HOST": "127.100.0.1",
    "KUBERNETES_SERVICE_PORT": "443",
    "KUBERNETES_SERVICE_PORT_HTTPS": "443",
}
# This machine has no accelerators to show and one interface that the nodes share.
MACHINE = {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": "", "GLOO_SOCKET_IFNAME": "lo"}


@dataclass(frozen=True)
class Setting:
    """`given` are the variables of the pod as the API server has them, references put in;
    `environment` and `words` are what a process of this machine is started with for them, as
    `here` writes any other word of the container."""

    given: dict[str, str]
    environment: dict[str, str]
    words: list[str]
    start: Path
    folder: Path
    here: Callable[[str], str]


class Settings:
    """The settings of one pod's containers, below a folder of its own."""

    def __init__(
        self, pod: Object, root: Path, claims: Path, images: Images, network: Network, look: Lookup
    ) -> None:
        self._pod = pod
        self._root = root
        self._images = images
        self._look = look
        self._neighbours = Neighbours(network, pod)
        self._mounts = Mounts(pod, root / "volumes", claims, look)
        # One line for each name that resolves: who keeps it, keeps the truth about readiness.
        self.hosts = root / "hosts"
        self.hosts.parent.mkdir(parents=True, exist_ok=True)
        self.hosts.touch()

    def of(self, container: Object) -> Setting:
        """A container's setting. Raises NotThere for a missing source."""
        image = self._images.find(container.get("image", ""))
        given = environment(self._pod, container, self._look)
        mounted = self._mounts.of(container)
        folder = self._root / "containers" / container["name"]
        copy = folder / "image"
        if not copy.exists():
            image.copy(copy)
        paths = LocalPaths({image.workdir: copy, **mounted})
        for file in self._mounts.files():
            paths.rewrite(file)
        for part in ("home", "tmp"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        own = {name: paths.here(value) for name, value in self._neighbours.variables(given).items()}
        made = {
            **base(self._programs(folder / "programs")),
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
            "HOSTNAME": self._pod["spec"].get("hostname") or self._pod["metadata"]["name"],
            **SERVER,
            **own,
            **MACHINE,
        }

        def here(word: str) -> str:
            return paths.here(self._neighbours.word(word))

        started = [here(word) for word in words(container, given, image.entry)]
        start = self._start(container, image, paths, copy)
        return Setting(given, made, started, start, folder, here)

    def _start(self, container: Object, image: Image, paths: LocalPaths, copy: Path) -> Path:
        said = str(PurePosixPath(container.get("workingDir") or image.workdir))
        start = Path(paths.here(said))
        # A folder of the image's own that nothing here stands for.
        return start if start.is_dir() else copy

    def _programs(self, folder: Path) -> Path:
        """A folder for PATH: `nslookup` knows the pods that are ready, as a cluster's DNS does."""
        folder.mkdir(parents=True, exist_ok=True)
        program = folder / "nslookup"
        if not program.exists():
            hosts = shlex.quote(str(self.hosts))
            program.write_text(
                "#!/bin/sh\n"
                f'while read -r address name; do if [ "$1" = "$address" ] || [ "$1" = "$name" ]\n'
                f'then echo "Name: $name"; echo "Address: $address"; exit 0; fi; done < {hosts}\n'
                f"""echo "** server can't find $1: NXDOMAIN"; exit 1\n""",
                "utf-8",
            )
            program.chmod(0o755)
        return folder
