"""Every image that the pods of a run are made from, wherever it is named."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from compiler.containers import containers, image_of, passed
from compiler.diagnostics import Place
from compiler.model import Image, Member, Run
from compiler.nodes import Mapping, Scalar
from compiler.rules import Report, Route
from compiler.security.below import below
from compiler.site import Site


class Reference(Struct, frozen=True):
    """An image, and where it is named: in a declaration or, with a `place`, in a base."""

    image: Image
    route: Route
    place: Place | None = None
    related: tuple[tuple[Route | Place, str], ...] = ()

    def report(
        self, message: str, help: str, related: tuple[tuple[Route | Place, str], ...] = ()
    ) -> Report:
        """The report about it."""
        return Report(
            self.route, message, help, related=(*related, *self.related), place=self.place
        )


def locked_name(image: Image, site: Site) -> str | None:
    """The name in images/lock.yaml that an image without a digest stands for, or None.

    That is `llm-sft` for `llm-sft:latest`, and for another tag of the repository that it is in.
    """
    if image.digest is not None or site.lock is None:
        return None
    lock = site.lock.value.images
    if image.registry in lock:
        return image.registry
    names = [
        name for name, entry in lock.items() if image_of(entry.reference).registry == image.registry
    ]
    return names[0] if len(names) == 1 else None


def images(run: Run, site: Site) -> Iterator[Reference]:
    """The images of all containers and image volumes of a run: its own, of `pod:`, of the base."""
    named: set[str] = set()
    for member in run.members:
        for container in containers(run, member):
            named.add(container.name)
            if container.image is not None and container.image.value.reference:
                yield Reference(container.image.value, container.image.route)
        if member.pod:
            yield from _beside(run, member)
    for brought in below(site).images:
        # What the job names as well has the job's image.
        if brought.name not in named:
            job = ((run.origins.anchor, "in this job"),)
            yield Reference(image_of(brought.text), (), brought.place, job)


def _beside(run: Run, member: Member) -> Iterator[Reference]:
    for route, volume in passed(run, member, "spec", "volumes"):
        source = volume.get("image")
        reference = source.get("reference") if isinstance(source, Mapping) else None
        if isinstance(reference, Scalar) and not reference.empty:
            yield Reference(image_of(str(reference)), (*route, "image", "reference"))
    for route, container in passed(run, member, "spec", "ephemeralContainers"):
        image = container.get("image")
        if isinstance(image, Scalar) and not image.empty:
            yield Reference(image_of(str(image)), (*route, "image"))
