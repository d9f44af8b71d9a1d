"""The manifests of deploy/kubernetes are valid and consistent, and give the service only what it needs."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from app import __version__
from app import settings as config
from app.settings import Settings

FOLDER = Path(__file__).parents[2] / "deploy" / "kubernetes"
SCHEMA = json.loads((Path(__file__).parent / "kubernetes-1.37.json").read_text())
OBJECTS: list[dict[str, Any]] = [
    found for path in sorted(FOLDER.glob("*.yaml")) for found in yaml.safe_load_all(path.read_text())
]
BY_KIND = {found["kind"]: found for found in OBJECTS}


def _pod(kind: str) -> dict[str, Any]:
    return BY_KIND[kind]["spec"]["template"]["spec"]


def _container(kind: str) -> dict[str, Any]:
    (container,) = _pod(kind)["containers"]
    return container


def _errors(found: dict[str, Any]) -> list[str]:
    schema = {"$ref": f"#/$defs/{SCHEMA['kinds'][found['kind']]}", "$defs": SCHEMA["$defs"]}
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(found)]


@pytest.mark.parametrize("found", OBJECTS, ids=lambda found: found["kind"])
def test_a_manifest_is_valid(found: dict[str, Any]) -> None:
    assert _errors(found) == []
    assert _errors(found | {"spce": {}}), "the schemas allow no other fields"


def test_there_is_what_a_cluster_needs() -> None:
    assert sorted(found["kind"] for found in OBJECTS) == sorted(SCHEMA["kinds"])
    selected = BY_KIND["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert BY_KIND["Deployment"]["spec"]["selector"]["matchLabels"] == selected
    assert BY_KIND["Service"]["spec"]["selector"] == selected
    assert BY_KIND["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == selected
    assert selected != BY_KIND["Job"]["spec"]["template"]["metadata"]["labels"], "the Service must not name the Job"
    assert BY_KIND["PodDisruptionBudget"]["spec"]["minAvailable"] < BY_KIND["Deployment"]["spec"]["replicas"]
    images = {_container(kind)["image"].rpartition(":")[2] for kind in ("Deployment", "Job")}
    assert images == {__version__}


def test_the_probes_ask_what_they_are_for_under_a_host_that_is_always_allowed() -> None:
    paths = {}
    for name in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = _container("Deployment")[name]["httpGet"]
        paths[name] = asked["path"]
        assert asked["httpHeaders"] == [{"name": "Host", "value": "localhost"}]
        assert asked["port"] in {port["name"] for port in _container("Deployment")["ports"]}
    assert paths == {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}


@pytest.mark.parametrize("kind", ["Deployment", "Job"])
def test_a_pod_has_no_rights_and_its_settings_are_accepted(kind, tmp_path, monkeypatch) -> None:
    container, pod = _container(kind), _pod(kind)
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
    }  # fmt: skip
    assert (pod["securityContext"]["runAsNonRoot"], pod["automountServiceAccountToken"]) == (True, False)
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert set(mounts) == {volume["name"] for volume in pod["volumes"]}
    secret = next(volume["secret"] for volume in pod["volumes"] if volume["name"] == "database")
    assert secret["secretName"] == BY_KIND["Secret"]["metadata"]["name"]
    values = BY_KIND["Secret"]["stringData"]
    shown = [item["key"] for item in secret.get("items", [{"key": key} for key in values])]
    assert ("owner-url" in shown) is (kind == "Job"), "the service never reads the owner's address"
    for variable in container["env"]:
        name, value = variable["name"], variable["value"]
        if name.endswith(config.FILE_SUFFIX):
            folder, _, key = value.rpartition("/")
            assert (folder, key in shown) == (mounts["database"], True)
            (tmp_path / key).write_text(re.sub("HOST|OWNER|PASSWORD", "x", values[key]))
            value = str(tmp_path / key)
        monkeypatch.setenv(name, value)
    assert config.unknown_variables({variable["name"]: "" for variable in container["env"]}) == []
    loaded = config.load()
    assert loaded.database_url is not None
    assert (loaded.migration_url is not None) is (kind == "Job")
    assert (loaded.auth, loaded.host) == (("api_key", "0.0.0.0") if kind == "Deployment" else ("none", "127.0.0.1"))
    assert loaded.port == Settings().port
