"""All stages over a repository: read, type, lower, check, emit; one job at a time.

Nothing here writes. A `JobResult` holds everything that later stages need about one file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Mapping as MappingType
from datetime import UTC, date, datetime
from functools import cached_property
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from compiler.arguments.schemafile import schema_file
from compiler.backends import Object, backends
from compiler.base import Base
from compiler.base import load as load_base
from compiler.belonging import clusters_of, name_of, team_of
from compiler.diagnostics import Finding, Place, Related, Severity
from compiler.effective import Effective, effective
from compiler.features import ROUTES, used
from compiler.imagesource import changed
from compiler.lowering import lower
from compiler.memory import state_of
from compiler.model import Identity, Origins, Run
from compiler.nodes import Mapping
from compiler.pasted import pasted
from compiler.policy.team import Team
from compiler.repository import Document, Policy, Repository
from compiler.results import Ask, JobResult, RunResult
from compiler.rules import Report, checks_of, finding, of_stage
from compiler.security import hiding
from compiler.security.leaks import SECRETS, without_secrets
from compiler.site import Site
from compiler.source import MOST, decode
from compiler.tree import read, settle
from compiler.weights import Weighing


class Project:
    """A repository with its policy read, ready to judge jobs."""

    def __init__(
        self,
        repository: Repository,
        at: datetime | None = None,
        cluster: str | None = None,
        number: int = 1,
    ) -> None:
        self.repository = repository
        self.at = at or datetime.now(UTC)
        self.only_cluster = cluster
        self.number = number
        self._sites: dict[tuple[str, str, str, str], Site] = {}
        # Of the schemas of images that are of no use, which many jobs share.
        self._states: dict[str, str] = {}

    @cached_property
    def policy(self) -> Policy:
        """The policy; its findings are part of every check."""
        return self.repository.policy()

    @cached_property
    def _bases(self) -> tuple[dict[str, Base], list[Finding]]:
        bases: dict[str, Base] = {}
        findings: list[Finding] = []
        for name, backend in backends().items():
            if (self.repository.root / "base" / name).is_dir():
                base, problems = load_base(self.repository, backend)
                findings += problems
                if base is not None:
                    bases[name] = base
        return bases, findings

    @property
    def bases(self) -> dict[str, Base]:
        """The bases by back end; one with findings is missing."""
        return self._bases[0]

    @property
    def base_findings(self) -> list[Finding]:
        return self._bases[1]

    @cached_property
    def _changed_images(self) -> frozenset[str]:
        lock = self.policy.lock
        return frozenset() if lock is None else changed(self.repository.root, lock.value)

    def prepare(self) -> None:
        """Read and build all that declarations have in common, before processes part."""
        from compiler.declaration import Declaration

        _ = self.policy, self.bases, self._changed_images, of_stage("run")
        Declaration.model_rebuild()

    @property
    def today(self) -> date:
        return self.at.date()

    def results(self, paths: Iterable[Path] | None = None) -> Iterator[JobResult]:
        """The result of each declaration, in the order of the paths."""
        for path in self.repository.job_files()[0] if paths is None else paths:
            yield self.judge(path)

    def judge(
        self, path: Path, data: bytes | None = None, asks: MappingType[str, Ask] | None = None
    ) -> JobResult:
        """Everything about one declaration: findings, and the runs it stands for.

        With `data` the file is judged as if that were its content. `asks` says by cluster which
        run is meant; where it is given, only its clusters are looked at.
        """
        result = self._judged(path, data, asks)
        if result.findings and result.source is not None:
            # Whatever is wrong with the file, and whichever rules are on.
            secrets = hiding.secrets_in(result.source)
            result.findings = hiding.without_secrets(result.findings, secrets)
        return result

    def _judged(
        self, path: Path, data: bytes | None, asks: MappingType[str, Ask] | None
    ) -> JobResult:
        from compiler.declaration import Declaration

        shown = self.repository.relative(path)
        result = JobResult(shown)
        content = self.repository.read_bytes(path) if data is None else data
        source, findings = decode(shown, content)
        result.findings += findings
        if source is None:
            result.digest = sha256(content).hexdigest()
            return result
        result.source, result.digest = source, source.digest
        node, findings = read(source)
        result.findings += findings
        if not isinstance(node, Mapping):
            return result
        result.node = node
        result.job = path.stem
        name_of(result)
        if (foreign := pasted(Declaration.model_fields, node, "a job")) is not None:
            result.findings.append(foreign)
            return result
        team = team_of(result, path, node, self.repository, self.policy)
        if team is None or findings:
            self._shape(result, node)
            return result
        clusters = [
            name
            for name in clusters_of(result, team, node, self.policy)
            if self.only_cluster in (None, name) and (asks is None or name in asks)
        ]
        if not clusters:
            self._shape(result, node)
        weighing = Weighing(self.policy, team.name, result.job, node, self.today)
        for name in clusters:
            ask = asks[name] if asks is not None else Ask(self.number)
            run = self._run(result, node, team, name, ask, weighing)
            if run is not None:
                result.runs.append(run)
        if "waive" in node and result.models:
            whole = len(result.runs) == len(result.clusters)
            result.findings += weighing.remarks(complete=whole)
        result.waivers = weighing.files
        result.findings = settle(_deduplicated(result.findings))
        return result

    def _shape(self, result: JobResult, node: Mapping) -> None:
        """The findings about the declaration alone, where the layers around it are unknown."""
        from compiler.declaration import Declaration
        from compiler.validation import validate

        # `team: NLP` is one mistake: that there is no such team says it better than its form does.
        told = {item.place for item in result.findings}
        shape = validate(Declaration, node, "a job")[1]
        result.findings += [item for item in shape if item.place not in told]

    def _site(self, team: Document[Team], cluster: str, backend: str, base: Base | None) -> Site:
        key = (team.name, cluster, backend, base.digest if base is not None else "")
        site = self._sites.get(key)
        if site is None:
            policy = self.policy
            site = self._sites[key] = Site(
                self.repository.root,
                policy.clusters[cluster],
                team,
                policy.images,
                policy.lock,
                policy.rules,
                backend,
                base,
                self._changed_images,
            )
        return site

    def backend_of(self, cluster: str, several: bool) -> str:
        """The back end that a cluster's policy chooses."""
        choice = self.policy.clusters[cluster].value.backend
        return choice.multi_node if several else choice.single_node

    def _run(
        self,
        result: JobResult,
        node: Mapping,
        team: Document[Team],
        cluster: str,
        ask: Ask,
        weighing: Weighing,
    ) -> RunResult | None:
        chosen: list[str] = []

        def base_of(several: bool) -> Mapping | None:
            chosen.append(self.backend_of(cluster, several))
            base = ask.base or self.bases.get(chosen[0])
            return base.fields if base is not None else None

        whole, findings = effective(node, cluster, team, self.policy, base_of)
        if whole is None:
            result.findings += findings
            return None
        if self._images_unknown(whole):
            # The file about them has its own finding, which everything here would repeat.
            return None
        backend = backends()[chosen[0]]
        base = ask.base or self.bases.get(backend.target.name)
        site = self._site(team, cluster, backend.target.name, base)
        identity = Identity(
            result.job,
            team.name,
            cluster,
            ask.number,
            team.value.namespace,
            ask.lineage,
            ask.folder,
            ask.source,
        )
        run, findings = lower(whole, identity, result.path, site, ask.image)
        result.findings += findings
        result.depends.update(self._mounted(whole, run))
        result.depends.update(self._schemas(whole, site))
        if run is None:
            return None
        result.models[cluster] = run
        found = list(self._checked("run", run, site, ()))
        if any(item.rule in SECRETS for item in found):
            found = without_secrets(found, run, site)
        expires = whole.declaration.expires
        if expires is not None and expires < self.today:
            found.append(
                finding(
                    "expired-declaration",
                    run.origins.place(("expires",)),
                    f"the declaration expired on {expires}: its run ends, and no new one starts",
                    "write a later day, or delete the file",
                )
            )
        lost = used(run) - backend.target.keeps
        if "several-nodes" in lost:
            # An elastic run is one on several nodes; and what their processes are told of one
            # another, a back end for one node cannot tell them.
            lost -= {"elastic"}
            found = [item for item in found if item.rule != "static-rendezvous-variable"]
        found.extend(
            finding(
                "unsupported-by-backend",
                run.origins.place(ROUTES[feature], key=True),
                f"the back end {backend.target.name} of the cluster {cluster} "
                f"cannot carry this ({feature})",
                "take it out, or choose another back end in policy/clusters/",
                [Related(site.cluster.place("backend"), "the back ends of the cluster")],
            )
            for feature in sorted(lost)
        )
        if base is None:
            name, kind = backend.target.name, backend.target.kind
            if not (self.repository.root / "base" / name).is_dir():
                found.append(
                    finding(
                        "missing-base",
                        site.cluster.place("backend"),
                        f"there is no base/{name}/, which this cluster's runs stand on",
                        f"add base/{name}/ with a kustomization.yaml and one {kind}",
                    )
                )
            result.findings += weighing.weighed(found)
            return None
        found = weighing.weighed(found)
        made = RunResult(run, site, whole, base, backend)
        # The object of a run that cannot be right would only repeat its mistakes.
        if not any(f.severity is Severity.ERROR for f in found) and of_stage("object"):
            found += weighing.weighed(list(self._checked("object", run, site, made.objects)))
        result.findings += found
        return None if any(f.severity is Severity.ERROR for f in found) else made

    def _images_unknown(self, whole: Effective) -> bool:
        """Whether the image lock, or the file about an image of the run, cannot be read."""
        images = [part.image for part in (whole.declaration, whole.first) if part is not None]
        files = {"images", "images/lock.yaml", *(f"images/{image}/image.yaml" for image in images)}
        return not files.isdisjoint(self.policy.broken)

    def _mounted(self, whole: Effective, run: Run | None) -> Iterator[tuple[str, str]]:
        """The files that the run mounts, or would, and the state that each is in."""
        if run is not None:
            for member in run.members:
                yield from ((file.source, file.digest) for file in member.files)
            return
        for fields in (whole.declaration, whole.first):
            for source in (fields.files or {}).values() if fields is not None else ():
                yield source, state_of(self.repository, source)

    def _schemas(self, whole: Effective, site: Site) -> Iterator[tuple[str, str]]:
        """The schemas of the run's images, and the state that each is in."""
        for part in (whole.declaration, whole.first):
            found = schema_file(part.image.text, site) if part is not None and part.image else None
            if found is not None:
                state = found.digest or self._states.get(found.path)
                if state is None:
                    state = self._states[found.path] = state_of(self.repository, found.path)
                yield found.path, state

    def _checked(
        self, stage: Any, run: Run, site: Site, objects: Sequence[Object]
    ) -> Iterator[Finding]:
        about = (run, site, objects) if stage == "object" else (run, site)
        for name, check in checks_of(stage):
            # The rest is not looked for: a file can hold thousands of one mistake.
            reports = list(islice(check(*about), MOST + 1))
            for report in reports[:MOST]:
                item = placed(name, report, run.origins)
                if len(reports) > MOST and report is reports[MOST - 1]:
                    more = f"{item.message} (more such places in this file are not listed)"
                    item = replace(item, message=more)
                yield item


def placed(rule: str, report: Report, origins: Origins) -> Finding:
    """A check's report as a finding: routes become the authored places behind them."""
    place = report.place or origins.place(report.route, report.key)
    related = [
        Related(where if isinstance(where, Place) else origins.place(where), note)
        for where, note in report.related
    ]
    if place.path != origins.anchor.path and report.place is None:
        # The value comes from policy, base or an image: the job that uses it is named too.
        related.append(Related(origins.anchor, "in this job"))
    return finding(rule, place, report.message, report.help, related, report.edits)


def _deduplicated(findings: list[Finding]) -> list[Finding]:
    """The findings without those that another cluster of the same job has given already."""
    seen: dict[Finding, None] = {}
    for item in findings:
        seen.setdefault(item)
    return list(seen)
