"""Secrets in plain text: which are found, which texts are none, and that nothing prints them."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from declarations import ROOT, TODAY, findings, job, of, only, policy, repository, spot
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler import report
from compiler.check import check
from compiler.project import Project
from compiler.repository import Repository
from compiler.security.formats import _THEIRS, foreign, known

# Put together here, so that nobody who looks through this file takes them for real.
GITHUB = "ghp_" + "a1B2" * 9
HUGGING_FACE = "hf_" + "AbCd" * 9
ANTHROPIC = "sk-ant-" + "x1" * 20
AWS = "AKIA" + "ABCD2345" * 2
KEY = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow\n-----END RSA " + "PRIVATE KEY-----\n"
WANDB = "0123456789" * 4

SECRET_NAMES = [
    "HF_TOKEN", "WANDB_API_KEY", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY", "CLIENT_SECRET",
    "apiToken", "REDIS_PASSWORD_2", "PASSPHRASE", "NGC_API_KEY", "SSH_PRIVATE_KEY", "GIT_TOKEN",
]  # fmt: skip
OTHER_NAMES = [
    "PAD_TOKEN", "EOS_TOKEN", "IMAGE_TOKEN", "MAX_TOKENS", "HF_TOKEN_PATH", "SECRET_NAME",
    "LABEL_KEY", "SORT_KEY", "TOKENIZERS_PARALLELISM", "KEYBOARD", "PASSWORD_FILE", "TOKENIZER",
    "SECRETS_MANAGER_URL",
]  # fmt: skip
NO_SECRETS = [
    '""', "/run/secrets/hf", "$$(cat /run/token)", "https://vault.example.com/v1/hf", "none",
    "vault://team/hf", '"<your token>"', '"{{ token }}"', '"***"', "EMPTY", "file:///run/token",
]  # fmt: skip


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_variable_that_is_named_for_a_secret_must_not_hold_one(name: str) -> None:
    item = only("secret-in-variable", findings(job(f"env: {{{name}: hunter2}}")))
    assert spot(item) == f"jobs/example.yaml:7:{9 + len(name)}"
    assert f"`{name}`" in item.message
    assert f"secrets: {{{name}: <Secret>/<key>}}" in item.help
    assert "hunter2" not in item.message + item.help


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_names_of_other_things_are_left_alone(name: str) -> None:
    assert findings(job(f"env: {{{name}: hunter2}}")) == []


@pytest.mark.parametrize("value", NO_SECRETS)
def test_what_refers_to_a_secret_is_none(value: str) -> None:
    assert findings(job(f"env: {{HF_TOKEN: {value}}}")) == []


def test_a_reference_to_another_variable_is_no_secret() -> None:
    extra = "secrets: {HF_TOKEN: hf/token}\nenv: {HUB_TOKEN: $(HF_TOKEN)}"
    assert findings(job(extra)) == []


@pytest.mark.parametrize(
    ("extra", "place"),
    [
        ("sidecars: [{name: exporter, image: gpu-exporter, env: {API_KEY: k}}]", "7:65"),
        ("init: [{name: i, image: llm-sft, command: [x], env: {API_KEY: k}}]", "7:63"),
        (
            "pod: {spec: {containers: [{name: pytorch, env: [{name: API_KEY, value: k}]}]}}",
            "7:72",
        ),
        ("master: {env: {API_KEY: k}}\nnum_nodes: 2", "7:25"),
    ],
)
def test_every_container_is_looked_at(extra: str, place: str) -> None:
    assert spot(only("secret-in-variable", findings(job(extra)))) == f"jobs/example.yaml:{place}"


def test_a_secret_of_a_team_is_found_in_the_team_s_file() -> None:
    old = 'env: {HF_HUB_DISABLE_TELEMETRY: "1"}'
    files = policy("policy/teams/nlp.yaml", (old, "env: {HF_TOKEN: hunter2}"))
    item = only("secret-in-variable", findings(job(), files))
    assert item.place.path == "policy/teams/nlp.yaml"
    assert [related.place.path for related in item.related] == ["jobs/example.yaml"]


def test_a_secret_of_a_base_is_found_in_the_base() -> None:
    base = (ROOT / "base/job/job.yaml").read_text("utf-8")
    env = '              value: "1"\n'
    assert base.count(env) == 1
    added = env + "            - name: HF_TOKEN\n              value: hunter2\n"
    item = only(
        "secret-in-variable", findings(job(), {"base/job/job.yaml": base.replace(env, added)})
    )
    assert item.place.path == "base/job/job.yaml"
    assert base.replace(env, added).splitlines()[(item.place.line or 0) - 1].endswith("hunter2")
    assert [related.place.path for related in item.related] == ["jobs/example.yaml"]


@pytest.mark.parametrize(
    ("field", "what"),
    [
        (f'env: {{REMOTE: "https://me:{GITHUB}@git.example.com/x.git"}}', "a GitHub token"),
        ('env: {REMOTE: "https://me:hunter2@git.example.com/x.git"}', "a password in an address"),
        (f"args: [{HUGGING_FACE}]", "a Hugging Face token"),
        (f"args: {{note: {ANTHROPIC}}}", "an Anthropic API key"),
        (f"annotations: {{example.com/key: {AWS}}}", "an AWS access key"),
        (f"pod: {{metadata: {{annotations: {{a.b/c: {GITHUB}}}}}}}", "a GitHub token"),
        (f"command: [bash, -c, 'wandb login {WANDB} && train']", "a Weights & Biases key"),
        ("command: [bash, -c, 'export API_KEY=abc123; train']", "the secret for `API_KEY`"),
        ("command: [bash, -c, 'API_KEY=\"abc123\" train']", "the secret for `API_KEY`"),
        ("command: [train, --db-password, hunter2]", "the password for `db-password`"),
        ("args: [--wandb-api-key=abc123]", "the secret for `wandb-api-key`"),
        ("args: {hf-token: abc123}", "the token for `hf-token`"),
        ("args: [logger.api_key=abc123]", "the secret for `logger.api_key`"),
        ("args: [--token, abcd1234efgh]", "the token for `token`"),
    ],
)  # fmt: skip
def test_a_secret_in_another_text_is_found(field: str, what: str) -> None:
    item = only("secret-in-text", findings(job(field)))
    assert item.message == f"{what} stands here in plain text"
    assert item.place.line == 7


@pytest.mark.parametrize(
    "field",
    [
        "args: [--pad-token, '<pad>', --tokenizer, Qwen/Qwen3-8B-Base-2507]",
        "args: [--token-limit=8192, --label-key=category1, --sort-key, text]",
        "args: [--token, eos]",
        "args: [--revision, 0123456789abcdef0123456789abcdef01234567]",
        "args: [--run-id, 123e4567-e89b-12d3-a456-426614174000]",
        "args: [--checksum=sha256:" + "0123456789abcdef" * 4 + "]",
        "secrets: {API_KEY: wandb/key}\nargs: [--api-key=$(API_KEY)]",
        "command: [bash, -c, 'API_KEY=$(cat /run/key) exec train --password-file /run/pw']",
        "command: [bash, -c, 'export API_KEY=\"${API_KEY:-}\"; train']",
        "args: [--data, 's3://bucket/a@b/hf_cache/dapi/eyJ', --time, '2026-01-01T10:00:00']",
        "env: {PROXY: 'http://proxy.example.com:3128', NO_PROXY: '.cluster.local,10.0.0.0/8'}",
        "env: {URL: 'postgres://user:$(PGPASSWORD)@db:5432/x'}\nsecrets: {PGPASSWORD: hf/pg}",
        "labels: {example.com/api-key: none}",
    ],
)
def test_texts_of_training_jobs_are_no_secrets(field: str) -> None:
    assert findings(job(field)) == []


def file_findings(content: str, name: str = "configs/own.yaml") -> list[tuple[str, str]]:
    found = findings(job(f"files: {{/etc/train/own: {name}}}"), {name: content})
    return [(spot(item), item.message) for item in of("secret-in-file", found)]


@pytest.mark.parametrize(
    ("content", "place", "what"),
    [
        ("lr: 1\napi_key: a1b2c3d4e5\n", "2:10", "the secret for `api_key`"),
        ('{"password": "hunter"}\n', "1:15", "the password for `password`"),
        ("export HF_TOKEN=a1b2c3d4e5\n", "1:17", "the token for `HF_TOKEN`"),
        ("client = C(api_key='a1b2c3d4e5')\n", "1:21", "the secret for `api_key`"),
        (f"x = '{GITHUB}'\n", "1:6", "a GitHub token"),
        (KEY, "1:1", "a private key"),
    ],
)
def test_a_secret_in_a_mounted_file_is_found_at_its_place(
    content: str, place: str, what: str
) -> None:
    assert file_findings(content) == [
        (f"configs/own.yaml:{place}", f"{what} is in a file that becomes a ConfigMap")
    ]


@pytest.mark.parametrize(
    "content",
    [
        'api_key = os.environ["API_KEY"]\npassword: str = Field()\ntoken = tokenizer.eos_token\n',
        '{"eos_token": "<|im_end|>", "pad_token": "<pad>", "chat_template": "{{ bos_token }}"}\n',
        "password: ${PASSWORD}\napi_key: null\nsecret_name: hf\ntoken: /run/secrets/token1\n",
        "def login(token=None, api_key=args.api_key2): pass\nkey = batch['input_ids8']\n",
        "special_tokens: 8\nmax_tokens: 4096\ntokens_per_batch: 65536\ntoken_type: bpe32k00\n",
        "sha256: " + "0123456789abcdef" * 4 + "\n",
    ],
)
def test_settings_and_code_are_no_secrets(content: str) -> None:
    assert file_findings(content) == []


def test_one_file_that_two_jobs_mount_is_named_for_both() -> None:
    files = {"jobs/other.yaml": job("files: {/b: configs/own.ini}"), "configs/own.ini": KEY}
    found = of("secret-in-file", findings(job("files: {/a: configs/own.ini}"), files))
    assert {item.related[0].place.path for item in found} == {
        "jobs/example.yaml",
        "jobs/other.yaml",
    }
    assert {spot(item) for item in found} == {"configs/own.ini:1:1"}


SECRETS = ["hunter2hunter2", "correct.horse", GITHUB, "a1b2c3d4e5f6", "MIIEow"]
LEAKY = (
    'env: {DB_PASSWORD: hunter2hunter2, PATH: "/x:$PATH"}\n'
    "secrets: {API_KEY: wandb/key}\n"
    f"args: [--db-password=correct.horse, {GITHUB}]\n"
    "files: {/a: configs/a.py, /b: configs/id}\n"
    "command:\n- bash\n- -c\n- |\n  API_KEY=a1b2c3d4e5f6 train"
)


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github"])
def test_no_form_of_a_report_prints_a_secret(form: str) -> None:
    files = {
        "jobs/example.yaml": job(LEAKY),
        "configs/a.py": "x = 1\napi_key = 'a1b2c3d4e5f6'\n",
        "configs/id": KEY,
    }
    with TemporaryDirectory() as folder:
        source = Repository(repository(Path(folder), files))
        checked = check(Project(source, at=TODAY), processes=1)
        from compiler.printing import reader

        printed = report.render(
            form, report.CheckReport(checked.findings, 1, 1, reader(source), source.root)
        )
    rules = {item.rule for item in checked.findings}
    assert {"secret-in-variable", "secret-in-text", "secret-in-file"} <= rules
    # Another finding shows the line of a secret, too.
    assert "unexpanded-shell-variable" in rules
    assert [secret for secret in SECRETS if secret in printed] == []
    if form == "text":
        assert "DB_PASSWORD: **************, PATH" in printed


def test_a_secret_where_its_reference_should_be_is_not_printed() -> None:
    item = only("bad-secret-reference", findings(job("secrets: {HF_TOKEN: hunter2}")))
    assert "hunter2" not in item.message + item.help


@pytest.mark.parametrize("module", sorted(_THEIRS))
def test_nothing_that_the_library_finds_is_sifted_out_before(module: str) -> None:
    """Whatever a form of the library matches must get past the quick look."""
    detector = getattr(import_module(f"detect_secrets.plugins.{module}"), _THEIRS[module][0])()

    @settings(max_examples=25, deadline=None, derandomize=True)
    @given(st.data())
    def every_form(data: st.DataObject) -> None:
        for form in detector.denylist:
            text = data.draw(
                st.from_regex(re.compile(form.pattern, (form.flags & ~re.UNICODE) | re.ASCII))
            )
            if any(detector.analyze_string(text)) and text.isascii():
                assert foreign(text), (form.pattern, text)

    every_form()


def test_a_private_key_is_found_to_its_end() -> None:
    text = f"before\n{KEY}after\n"
    (one,) = known(text)
    assert text[one.start : one.end] == KEY.rstrip("\n")


def test_the_library_is_loaded_only_for_a_text_that_may_hold_a_secret() -> None:
    script = (
        "import sys\n"
        "from compiler.security.formats import known\n"
        "known('torchrun --data /models/llama-3-8b hf_home s3://x sha256:' + 'ab' * 32)\n"
        "print('detect_secrets' in sys.modules, 'requests' in sys.modules)\n"
        "known('x ' + 'gh' + 'p_' + 'a1B2' * 9)\n"
        "print('detect_secrets' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False", "True"]


@pytest.mark.parametrize("before", [0, 700, 1792, 1800, 2040, 2048, 5000, 100_000])
def test_a_secret_far_into_a_long_line_is_found_at_its_place(before: int) -> None:
    text = "one\n" + "x " * (before // 2) + GITHUB + " y" * 2000
    (one,) = known(text)
    assert text[one.start : one.end] == GITHUB


def test_a_file_full_of_secrets_is_not_listed_to_its_end() -> None:
    assert len(file_findings(f"{GITHUB}\n" * 500)) == 20


def test_what_looks_like_a_secret_and_is_none_can_be_waived() -> None:
    waiver = (
        "rule: secret-in-variable\njobs: [nlp/example]\nreason: a name, and no token\n"
        "approver: example-org/platform\nuntil: 2026-12-31\n"
    )
    text = job("env: {DISPATCH_TOKEN: hunter2}")
    only("secret-in-variable", findings(text))
    assert findings(text, {"policy/waivers/dispatch.yaml": waiver}) == []
