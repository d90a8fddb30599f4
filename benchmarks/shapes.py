"""The shapes of generated declarations, and the lines that they have in common."""

from __future__ import annotations

import random
from collections.abc import Callable

_DATA = ("imagenet", "c4-en", "laion-400m", "librispeech", "code-python", "fineweb", "audioset")
_WORDS = ("baseline", "long context", "ablation of the schedule", "after the data fix", "with EMA")
_RATES = ("1e-5", "2e-5", "5e-5", "1e-4", "3e-4", "0.001")


class Job:
    """What the parts of one declaration have in common; `number` is in its description."""

    def __init__(self, chance: random.Random, number: int) -> None:
        self.chance = chance
        self.number = number
        self.team = "nlp"
        self.stem = "train"
        self.env: dict[str, str] = {}
        self.data = chance.choice(_DATA)
        self.checkpoint = True

    def one(self, *options: str) -> str:
        return self.chance.choice(options)

    def often(self, share: float) -> bool:
        return self.chance.random() < share

    def head(self) -> list[str]:
        lines = ["# yaml-language-server: $schema=../../schemas/job.schema.json"]
        what = f"{self.stem.capitalize()} on {self.data}, {self.one(*_WORDS)}"
        lines.append(f"description: {what} ({self.number})")
        if self.often(0.3):
            lines.append(f"owner: example-org/{self.team}")
        if self.often(0.15):
            lines.append(f'contact: "#{self.team}-training"')
        return lines

    def args(self) -> list[str]:
        """Arguments as a mapping or as a list, in block or in flow form."""
        rate, seed = self.one(*_RATES), self.chance.randrange(1000)
        steps = self.chance.randrange(1, 400) * 500
        if self.often(0.4):
            return [
                "args:",
                f"  data: /data/{self.data}",
                f"  learning_rate: {rate}",
                f"  max_steps: {steps}",
                f"  seed: {seed}",
            ]
        if self.often(0.5):
            return [
                "args:",
                f"  - --data=/data/{self.data}",
                f"  - --learning-rate={rate}",
                f'  - "--max-steps={steps}"',
                f"  - --seed={seed}",
            ]
        data = f"--data, /data/{self.data}"
        return [f'args: [{data}, --learning-rate, "{rate}", --max-steps, "{steps}"]']

    def tail(self) -> list[str]:
        lines = [
            f"max_duration: {self.one('6h', '12h', '24h', '36h', '90m', '2d', '3d')}",
        ]
        if self.checkpoint:
            lines.append(f"retry: {{max: {self.chance.randrange(1, 5)}}}")
        if self.often(0.3):
            lines.append(f"stop: {{grace: {self.one('2m', '5m', '10m')}}}")
        if self.checkpoint:
            every = self.one("10m", "20m", "30m", "1h")
            keep = self.chance.randrange(1, 5)
            if self.often(0.5):
                lines.append(f"checkpoint: {{claim: checkpoints, path: /ckpt, every: {every}}}")
            else:
                lines += [
                    "checkpoint:",
                    "  claim: checkpoints",
                    "  path: /ckpt",
                    f"  every: {every}  # a checkpoint takes {keep} min",
                    f"  keep: {keep}",
                ]
        if self.often(0.5):
            self.env["OMP_NUM_THREADS"] = self.one('"4"', '"8"', '"16"')
        if self.often(0.25):
            self.env["TOKENIZERS_PARALLELISM"] = '"false"'
        if self.env:
            lines += ["env:", *(f"  {name}: {value}" for name, value in self.env.items())]
        if self.team == "nlp" and self.often(0.4):
            lines.append("secrets: {HF_TOKEN: hf/token}")
        if self.often(0.1):
            lines.append(f"labels: {{example.com/purpose: {self.one('ablation', 'release')}}}")
        if self.often(0.03):
            lines.append("state: stopped")
        return lines

    def mounts(self, *more: str) -> list[str]:
        lines = ["mounts:", "  /data: {claim: datasets, read_only: true}"]
        if self.often(0.3):
            lines.append("  /logs: {claim: logs}")
        return [*lines, *(f"  {line}" for line in more)]


def _one_node(job: Job) -> list[str]:
    job.team, job.stem = "vision", job.one("resnet", "detector", "classifier")
    return [
        "image: ddp-mini",
        *job.args(),
        f"accelerators: A100-80GB:{job.one('1', '2', '4', '8')}",
        "cluster: west",
        "queue: research",
        *job.mounts(),
    ]


def _static(job: Job) -> list[str]:
    job.team, job.stem = job.one("nlp", "vision"), job.one("sft", "pretrain", "vit")
    image, command = job.one("llm-sft:", "vit:vit.pretrain").split(":")
    lines = [f"image: {image}"]
    if command:
        lines.append(f"command: [torchrun, -m, {command}]")
    lines += job.args()
    lines += [
        "accelerators: H100:8",
        f"num_nodes: {job.one('2', '2', '2', '4', '4')}",
        "queue: research",
        f"priority: {job.one('low', 'normal')}",
    ]
    if job.often(0.3):
        job.env["NCCL_DEBUG"] = job.one("INFO", "WARN")
    if job.often(0.15):
        lines.append(f"topology: {{{job.one('required: block', 'preferred: rack')}}}")
    return lines + job.mounts("/models: {claim: models, read_only: true}")


def _elastic(job: Job) -> list[str]:
    job.team, job.stem = "nlp", "dpo"
    return [
        "image: llm-sft",
        *job.args(),
        "accelerators: H100:8",
        "# The run goes on while nodes come and go.",
        "num_nodes: {min: 2, max: 4}",
        f'elastic: {{max_restarts: {job.one("10", "20")}, conf: {{join_timeout: "900"}}}}',
        "queue: research",
        *job.mounts(),
    ]


def _script(job: Job) -> list[str]:
    job.team, job.stem = "nlp", "script"
    return [
        "image: ddp-mini",
        "command:",
        "  - bash",
        "  - -c",
        "  - |",
        "    set -eu",
        "    exec torchrun \\",
        '      --nnodes "${PET_NNODES}" \\',
        '      --nproc_per_node "${PET_NPROC_PER_NODE}" \\',
        '      --rdzv_id "${PET_RDZV_ID}" \\',
        '      --rdzv_backend "${PET_RDZV_BACKEND}" \\',
        '      --rdzv_endpoint "${PET_RDZV_ENDPOINT}" \\',
        f"      train.py --data /data/{job.data} --seed {job.number}",
        "accelerators: H100:8",
        "num_nodes: {min: 2, max: 2}",
        "elastic: {backend: c10d}",
        "queue: research",
        *job.mounts(),
    ]


def _cpu(job: Job) -> list[str]:
    job.team, job.stem, job.checkpoint = "nlp", "tokenize", False
    job.env["SHARDS"] = '"256"'
    return [
        "image: data-tools",
        f'command: [data-tools, tokenize, --in, /raw/{job.data}, --workers, "44"]',
        "# No accelerators: a node of the CPU pool.",
        f"cpu: {job.one('16', '32', '48')}",
        "memory: 200Gi",
        "shm_size: 32Gi",
        "ephemeral_storage: 100Gi",
        "queue: data",
        "priority: low",
        "mounts:",
        "  /raw: {claim: datasets, read_only: true}",
        "security: {run_as_user: 1000, run_as_group: 1000, fs_group: 1000, non_root: true}",
    ]


def _slice(job: Job) -> list[str]:
    job.team, job.stem, job.checkpoint = "vision", "probe", False
    return [
        "image: ddp-mini",
        *job.args(),
        "accelerators: MIG-1g.10gb:1",
        "cluster: west",
        "queue: interactive",
        "priority: low",
        *job.mounts(),
    ]


def _other_vendor(job: Job) -> list[str]:
    job.team, job.stem = "speech", "asr"
    return [
        "image: asr-rocm",
        "command: [torchrun, -m, asr.train]",
        *job.args(),
        "accelerators: MI300X:8",
        f"num_nodes: {job.one('1', '2', '2')}",
        "priority: normal",
        *job.mounts(),
    ]


def _sidecar(job: Job) -> list[str]:
    job.team, job.stem = "speech", "tts"
    return [
        "image: tts",
        "command: [torchrun, -m, tts.train]",
        "working_dir: /workspace/tts",
        f"args: [--voices, /data/{job.data}]",
        "accelerators: A100-80GB:8",
        "sidecars:",
        "  - name: exporter",
        "    image: gpu-exporter",
        '    args: [--listen, ":9401"]',
        "    cpu: 500m",
        "    memory: 512Mi",
        "    ports: {gpu-metrics: 9401}",
        *job.mounts(),
    ]


def _staged(job: Job) -> list[str]:
    job.team, job.stem = "vision", "staged"
    return [
        "image: detector",
        "command: [torchrun, -m, detector.train]",
        "args: [--config, /etc/detector/augment.yaml, --data, /scratch/scenes]",
        "files: {/etc/detector/augment.yaml: configs/vision/augment.yaml}",
        "init:",
        "  - name: stage-data",
        "    image: data-tools",
        f"    command: [data-tools, copy, /data/{job.data}, /scratch/scenes]",
        "    cpu: 4",
        "    memory: 8Gi",
        "    mounts:",
        "      /data: {claim: datasets, read_only: true}",
        "      /scratch: {scratch: 400Gi}",
        "mounts:",
        "  /scratch: {scratch: 400Gi}",
        "ports: {metrics: 9400}",
        "accelerators: A100-80GB:4",
        "queue: research",
    ]


def _master(job: Job) -> list[str]:
    job.team, job.stem = "speech", "wav2vec"
    return [
        "image: pretrain",
        "args: [--config, /etc/train/wav2vec.yaml]",
        "files: {/etc/train/wav2vec.yaml: configs/speech/wav2vec.yaml}",
        "accelerators: A100-80GB:8",
        "num_nodes: 2",
        "cpu: 100",
        "memory: 800Gi",
        "master:",
        "  memory: 900Gi",
        '  env: {WRITE_EVENTS: "true"}',
        "  ports: {tensorboard: 6006}",
        *job.mounts(),
    ]


def _passthrough(job: Job) -> list[str]:
    job.team, job.stem = "vision", "segment"
    return [
        "image: vit-rocm",
        "command: [torchrun, -m, vit.segment]",
        *job.args(),
        "accelerators: MI300X:8",
        "cluster: east",
        "placement: [local-nvme]",
        "secrets: {AWS_ACCESS_KEY_ID: object-store/id}",
        "pod:",
        "  spec:",
        "    dnsConfig:",
        f'      options: [{{name: ndots, value: "{job.one("1", "2")}"}}]',
    ]


def _both(job: Job) -> list[str]:
    job.team, job.stem = "speech", "evaluate"
    return [
        "image: ddp-mini",
        *job.args(),
        "cluster: [west, east]",
        "queue: research",
        "accelerators: A100-80GB:4",
        *job.mounts(),
    ]


# How often each shape comes, of a hundred.
SHAPES: tuple[tuple[Callable[[Job], list[str]], int], ...] = (
    (_one_node, 29),
    (_static, 30),
    (_elastic, 7),
    (_script, 5),
    (_cpu, 7),
    (_slice, 5),
    (_other_vendor, 5),
    (_sidecar, 3),
    (_staged, 3),
    (_master, 2),
    (_passthrough, 2),
    (_both, 2),
)
