"""From an effective declaration to the neutral model: names resolved, order settled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from compiler import declaration as declared
from compiler.arguments.schemafile import schema_for
from compiler.arguments.words import spelled
from compiler.diagnostics import Finding
from compiler.effective import Effective
from compiler.model import (
    Bounds,
    Checkpoint,
    Companion,
    Elastic,
    Identity,
    Image,
    Member,
    Route,
    Run,
    Security,
)
from compiler.passthrough import SHARED_MEMORY
from compiler.quantity import Quantity
from compiler.resolving import Resolver
from compiler.site import Site, registry_of

T = TypeVar("T")


class Lowering(Resolver):
    """One run being made; `findings` is what could not be resolved."""

    def run(self) -> Run | None:
        """The run, or None where a finding says why there is none."""
        job = self.effective.declaration
        others = self.member(job, ())
        first = (
            others
            if self.effective.first is None
            else self.member(self.effective.first, ("master",))
        )
        elastic = self.elastic(job)
        nodes = elastic.max if elastic else _count(job.num_nodes)
        run = Run(
            identity=self.identity,
            path=self.path,
            first=first,
            others=others,
            nodes=nodes,
            elastic=elastic,
            queue=job.queue,
            priority=job.priority,
            preemptible=job.preemptible,
            topology=self.topology(job),
            max_duration=job.max_duration,
            retries=(job.retry.max or 0) if job.retry else 0,
            grace=(job.stop.grace or 30) if job.stop else 30,
            checkpoint=self.checkpoint(job),
            host_network=bool(job.host_network),
            pull_secrets=self.pull_secrets(job, first, others),
            stopped=job.state == "stopped",
            rerun=self.by_cluster(job.rerun, 1),
            max_cost=job.max_cost,
            origins=self.origins,
        )
        return None if self.findings else run

    def by_cluster(self, value: Any, default: T) -> T:
        """A value, or the value for this cluster out of a map."""
        if isinstance(value, dict):
            return value.get(self.identity.cluster, default)  # type: ignore[no-any-return]
        return default if value is None else value

    def elastic(self, job: declared.Declaration) -> Elastic | None:
        nodes = job.num_nodes
        if not isinstance(nodes, declared.NodeRange):
            return None
        details = job.elastic or declared.Elastic()
        return Elastic(
            min=nodes.min,
            max=nodes.max,
            backend=details.backend or "c10d",
            max_restarts=3 if details.max_restarts is None else details.max_restarts,
            endpoint=details.endpoint,
            conf=tuple((details.conf or {}).items()),
        )

    def checkpoint(self, job: declared.Declaration) -> Checkpoint | None:
        wanted = job.checkpoint
        if wanted is None:
            return None
        return Checkpoint(
            claim=wanted.claim,
            path=wanted.path or "/checkpoints",
            every=wanted.every,
            keep=wanted.keep,
            resume=self.by_cluster(wanted.from_, None),
        )

    def member(self, fields: declared.Member, at: Route) -> Member:
        name = fields.image
        about = self.site.images.get(name.text) if name is not None else None
        image = self.image(name, (*at, "image")) if name is not None else Image("", None, None, "")
        if self.pinned is not None and image.name is not None:
            # A run that goes on with an earlier one's checkpoints takes that one's image.
            reference = f"{image.registry}@{self.pinned}"
            image = replace(image, reference=reference, digest=self.pinned)
        if name is None:
            self.report(
                "missing-key",
                (*at, "image"),
                "a job needs an image, and no layer gives one",
                "add `image:` with a folder of images/ or a full reference with a digest",
            )
        command = _words(fields.command)
        if command is None and about is not None:
            command = _words(about.value.entry)
        return Member(
            image=image,
            pull=fields.pull or "if-not-present",
            command=command,
            args=tuple(word for word, _ in spelled(fields.args, schema_for(image.name, self.site))),
            working_dir=fields.working_dir,
            env=self.variables(fields.env, fields.secrets, at),
            devices=self.devices(fields, at),
            cpu=_bounds(fields.cpu),
            memory=_bounds(fields.memory),
            shm=self.shm(fields),
            storage=fields.ephemeral_storage,
            resources=tuple((fields.resources or {}).items()),
            mounts=self.mounts(fields.mounts, (*at, "mounts")),
            files=self.files(fields.files, (*at, "files")),
            ports=tuple((fields.ports or {}).items()),
            sidecars=self.companions(fields.sidecars, (*at, "sidecars")),
            init=self.companions(fields.init, (*at, "init")),
            security=_security(fields.security),
            labels=tuple((fields.labels or {}).items()),
            annotations=tuple((fields.annotations or {}).items()),
            placement=self.placement(fields, (*at, "placement")),
            pod=fields.pod if isinstance(fields.pod, dict) else {},  # type: ignore[arg-type]
        )

    def shm(self, fields: declared.Member) -> Quantity | None:
        """Shared memory: as set; the built-in size gives way to half of a small memory."""
        size = fields.shm_size
        if size is None or size.value == 0 or SHARED_MEMORY in (fields.mounts or {}):
            return None
        memory = _bounds(fields.memory)
        if (
            memory is not None
            and not self.origins.set(("shm_size",))
            and size.value * 2 > memory.limit.value
        ):
            half = int(memory.limit.value) // 2
            return Quantity(
                f"{half // 2**20}Mi",
                Quantity("", memory.limit.value).value * 0 + half // 2**20 * 2**20,
            )
        return size

    def companions(
        self, containers: Sequence[declared.Container] | None, at: Route
    ) -> tuple[Companion, ...]:
        made: list[Companion] = []
        for index, container in enumerate(containers or ()):
            made.append(
                Companion(
                    name=container.name,
                    image=self.image(container.image, (*at, index, "image")),
                    command=_words(container.command),
                    args=tuple(container.args or ()),
                    env=self.variables(container.env, container.secrets, (*at, index)),
                    cpu=_bounds(container.cpu),
                    memory=_bounds(container.memory),
                    ports=tuple((container.ports or {}).items()),
                    mounts=self.mounts(container.mounts, (*at, index, "mounts")),
                )
            )
        return tuple(made)

    def pull_secrets(self, job: declared.Declaration, *members: Member) -> tuple[str, ...]:
        """Those of the declaration, then those of the registries that the images come from."""
        names = list(dict.fromkeys(job.pull_secrets or ()))
        for member in members:
            for image in (member.image, *(c.image for c in (*member.sidecars, *member.init))):
                match = registry_of(image, self.site)
                if match is not None and match[1] is not None and match[1] not in names:
                    names.append(match[1])
        return tuple(names)


def _words(command: Any) -> tuple[str, ...] | None:
    return None if command is None else tuple(command)


def _count(nodes: Any) -> int:
    return nodes if isinstance(nodes, int) else 1


def _bounds(value: Any) -> Bounds | None:
    if value is None:
        return None
    if isinstance(value, Quantity):
        return Bounds(value, value)
    return Bounds(value.request, value.limit)


def _security(fields: declared.Security | None) -> Security:
    if fields is None:
        return Security()
    return Security(
        run_as_user=fields.run_as_user,
        run_as_group=fields.run_as_group,
        fs_group=fields.fs_group,
        non_root=fields.non_root,
        capabilities=tuple(fields.capabilities or ()),
        service_account=fields.service_account,
        service_account_token=bool(fields.service_account_token),
    )


def lower(
    effective: Effective, identity: Identity, path: str, site: Site, pinned: str | None = None
) -> tuple[Run | None, list[Finding]]:
    """The run that an effective declaration stands for, or why there is none.

    `pinned` is the digest that an image of the lock had when the run's lineage began.
    """
    lowering = Lowering(effective, identity, path, site, pinned)
    run = lowering.run()
    return run, lowering.findings
