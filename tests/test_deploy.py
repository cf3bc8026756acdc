"""The files of examples/deploy are taken by the programs that they are for; nginx is in server/test_behind_nginx."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from ai_battle.config.server import Server
from ai_battle.testing import FakeProviders

from .scenarios.terminal import run
from .server.starting import start_server

DEPLOY = Path(__file__).parent.parent / "examples" / "deploy"
AROUND = ("ai-battle.service", "nginx.conf", "Dockerfile", "compose.yaml")
SECRETS = {"TEAM_KEY": "t", "METRICS_KEY": "m", "REDIS_PASSWORD": "r", "GRAFANA_PASSWORD": "g", "OPENAI_API_KEY": "o"}


def output_of(*command: str | Path, **environment: str) -> str:
    """Returns what a command says, which ends well; the test is skipped where it is not installed."""
    if not shutil.which(str(command[0])):
        pytest.skip(f"needs {command[0]}, from a Debian package that CONTRIBUTING.md names")
    known = {**os.environ, **environment}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=known, check=False)
    assert done.returncode == 0, done.stderr or done.stdout
    return done.stdout + done.stderr


def test_the_server_file_is_valid(tmp_path: Path) -> None:
    done = run("validate", DEPLOY / "server.yaml", STATE=str(tmp_path), **SECRETS)
    assert "server.yaml: ok" in done.out, done.err


@pytest.mark.slow
def test_compose_takes_its_file_and_asks_for_each_secret() -> None:
    compose = "docker-compose", "-f", str(DEPLOY / "compose.yaml"), "config"
    whole = yaml.safe_load(output_of(*compose, **SECRETS))
    for secret in SECRETS:
        with pytest.raises(AssertionError, match=secret):
            output_of(*compose, **SECRETS | {secret: ""})

    nginx = read("nginx.conf")
    scraped = read("prometheus/prometheus.yml")
    for name in ("worker-1", "worker-2"):
        address = f"{whole['services'][name]['networks']['inside']['ipv4_address']}:8787"
        assert address in nginx
        assert address in scraped


@pytest.mark.slow
def test_compose_mounts_files_that_are_here() -> None:
    """All but the secrets that its users lay beside it."""
    services = yaml.safe_load(read("compose.yaml"))["services"].values()
    mounted = {volume.split(":")[0] for each in services for volume in each["volumes"] if volume.startswith("./")}
    assert {path for path in mounted if not (DEPLOY / path).exists()} == {"./tls", "./metrics.key"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["prometheus/prometheus.yml", "kubernetes/prometheus.yml"])
def test_prometheus_takes_its_configuration(tmp_path: Path, name: str) -> None:
    """But for how it finds pods: Debian's knows nothing of Kubernetes."""
    (tmp_path / "key").write_text("m")
    shutil.copy(DEPLOY / "prometheus" / "rules.yml", tmp_path)
    file = tmp_path / "prometheus.yml"
    loaded = yaml.safe_load(read(name).replace("/etc/prometheus-key", str(tmp_path / "key")))
    for job in loaded["scrape_configs"]:
        job.pop("kubernetes_sd_configs", None)
    file.write_text(yaml.safe_dump(loaded))
    output_of("promtool", "check", "config", file)


@pytest.mark.slow
def test_alerts_fire_when_they_should() -> None:
    output_of("promtool", "test", "rules", DEPLOY / "prometheus" / "rules_test.yml")


@pytest.mark.slow
def test_systemd_takes_its_unit(tmp_path: Path) -> None:
    unit = tmp_path / "ai-battle.service"
    unit.write_text(read("ai-battle.service").replace("/opt/ai-battle/bin/ai-battle", "/bin/true"))
    assert output_of("systemd-analyze", "verify", unit) == ""
    output_of("systemd-analyze", "security", "--offline=true", "--threshold=50", unit)  # in tenths: "OK"


def test_what_stands_around_the_workers_leaves_limits_to_them() -> None:
    server, unit, nginx, container, compose = Server(), *map(read, AROUND)

    assert int(match_in(r"TimeoutStopSec=(\d+)", unit)) > server.limits.grace_seconds
    assert int(match_in(r"stop_grace_period: (\d+)s", compose)) > server.limits.grace_seconds
    assert int(match_in(r"LimitNOFILE=(\d+)", unit)) > 2 * server.limits.connections
    assert int(match_in(r"client_max_body_size (\d+)m", nginx)) > server.limits.body_mb
    assert int(match_in(r"proxy_read_timeout (\d+)s", nginx)) > server.request_timeout
    assert match_in(r"PORT=(\d+)", container) == match_in(r"EXPOSE (\d+)", container) == str(server.port)


def manifests() -> dict[str, Any]:
    """Those of Kubernetes, by their kind."""
    return {each["kind"]: each for each in yaml.safe_load_all(read("kubernetes/workers.yaml"))}


@pytest.mark.slow
@pytest.mark.parametrize("version", ["1.30", "1.37"])
def test_kubernetes_takes_its_manifests(version: str) -> None:
    validator = pytest.importorskip("kubernetes_validate", reason="needs the package kubernetes-validate")
    for each in manifests().values():
        validator.validate(each, version, strict=True)


def test_the_manifests_fit_each_other_and_the_server() -> None:
    kinds = manifests()
    pod = kinds["Deployment"]["spec"]["template"]
    [container] = pod["spec"]["containers"]
    selectors = [kinds["Deployment"]["spec"]["selector"]["matchLabels"], kinds["Service"]["spec"]["selector"]]
    selectors += [kinds["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"]]
    selectors += [kinds["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"]]
    pause = int(container["lifecycle"]["preStop"]["exec"]["command"][1])

    assert all(labels == pod["metadata"]["labels"] for labels in selectors)
    assert pod["spec"]["terminationGracePeriodSeconds"] > pause + Server().limits.grace_seconds
    assert {mount["name"] for mount in container["volumeMounts"]} == {each["name"] for each in pod["spec"]["volumes"]}
    assert container["ports"][0]["containerPort"] == Server().port
    assert kinds["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]["name"] == kinds["Deployment"]["metadata"]["name"]


def test_workers_are_added_before_one_has_all_the_answers_that_it_takes() -> None:
    """And by a metric that the adapter passes on."""
    [metric] = manifests()["HorizontalPodAutoscaler"]["spec"]["metrics"]
    [rule] = yaml.safe_load(read("kubernetes/prometheus-adapter.yaml"))["rules"]["custom"]
    limits = yaml.safe_load(read("server.yaml"))["server"]["limits"]

    assert rule["seriesQuery"].startswith(metric["pods"]["metric"]["name"])
    assert int(metric["pods"]["target"]["averageValue"]) <= limits["concurrent"] / 2


def read(name: str) -> str:
    return (DEPLOY / name).read_text()


def match_in(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match, pattern
    return match[1]


@pytest.mark.slow
async def test_dashboard_and_alerts_ask_for_metrics_that_a_worker_has(fakes: FakeProviders, tmp_path: Path) -> None:
    options = "--host", "127.0.0.1", "--port", "0"
    async with start_server(fakes, DEPLOY / "server.yaml", *options, STATE=str(tmp_path), **SECRETS) as server:
        header = {"x-api-key": SECRETS["METRICS_KEY"]}
        async with aiohttp.ClientSession() as session, session.get(f"{server.address}/metrics", headers=header) as told:
            served = dict(re.findall(r"^# TYPE (\S+) (\S+)$", await told.text(), re.MULTILINE))

    asked = {name for text in queries() for name in re.findall(r"\bai_battle_\w+", text)}
    assert asked
    assert {series(name, served) for name in asked} <= served.keys()


def series(name: str, served: dict[str, str]) -> str:
    """The metric that a name in a query belongs to: a histogram has three names."""
    base = re.sub("_(bucket|count|sum)$", "", name)
    return base if served.get(base) == "histogram" else name


def queries() -> Iterator[str]:
    board: Any = json.loads(read("grafana/dashboard.json"))
    yield from (target["expr"] for panel in board["panels"] for target in panel["targets"])
    yield from (variable["query"] for variable in board["templating"]["list"])
    for group in yaml.safe_load(read("prometheus/rules.yml"))["groups"]:
        yield from (rule["expr"] for rule in group["rules"])
    yield read("kubernetes/prometheus-adapter.yaml")
