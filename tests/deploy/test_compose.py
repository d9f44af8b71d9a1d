"""compose.yaml limits what its containers may do, tunes its database, and gives the service only what it needs."""

import json
import re
from pathlib import Path
from typing import Any

import yaml

from app.database.embedded import embedded_programs
from app.settings import Settings

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())


def test_the_database_of_compose_is_tuned_as_the_embedded_one_for_its_memory():
    db = COMPOSE["services"]["db"]
    program, *options = db["command"]
    assert (program, set(options[::2])) == ("postgres", {"-c"})
    (gigabytes,) = re.findall(r":-(\d+)g\}", db["mem_limit"])
    expected = embedded_programs.tune(embedded_programs.for_memory(int(gigabytes) << 30))
    assert dict(option.split("=") for option in options[1::2]) == expected


def test_compose_pins_its_database_and_keeps_the_data_where_postgres_18_puts_it():
    db = COMPOSE["services"]["db"]
    assert re.fullmatch(r"pgvector/pgvector:0\.8\.\d+-pg18(@sha256:[0-9a-f]{64})?", db["image"])
    assert db["volumes"] == ["pgdata:/var/lib/postgresql"]
    assert set(COMPOSE["volumes"]) == {"pgdata", "models"}
    assert "-h 127.0.0.1" in " ".join(db["healthcheck"]["test"])
    assert "ports" not in db


def test_every_container_is_limited_and_has_no_more_capabilities_than_the_image_of_postgres_starts_with():
    for name, service in COMPOSE["services"].items():
        assert re.fullmatch(r"\$\{STEPWELL_\w+:-\dg\}", service["mem_limit"])
        assert (service["pids_limit"], set(service["logging"]["options"])) == (512, {"max-size", "max-file"})
        assert (service["cap_drop"], service["security_opt"]) == (["ALL"], ["no-new-privileges:true"])
        starting = {"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"} if name == "db" else set()
        assert set(service.get("cap_add", ())) == starting
        assert "privileged" not in service


def test_compose_migrates_as_the_owner_and_serves_as_the_service_role():
    migrate, api = COMPOSE["services"]["migrate"], COMPOSE["services"]["api"]
    assert migrate["environment"]["DATABASE_URL"] == api["environment"]["DATABASE_URL"]
    assert api["environment"]["DATABASE_URL"].startswith("postgresql://stepwell_service:${STEPWELL_SERVICE_PASSWORD")
    assert "${STEPWELL_OWNER" not in json.dumps(api), "the service never learns the owner's password"
    assert migrate["env_file"] == api["env_file"] == ".env"
    assert all(api["environment"][name] == "" for name in ("STEPWELL_OWNER_PASSWORD", "STEPWELL_MIGRATION_URL"))
    assert migrate["depends_on"] == {"db": {"condition": "service_healthy"}}
    assert api["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}
    assert api["ports"] == ["127.0.0.1:${STEPWELL_PUBLISHED_PORT:-8000}:8000"]
    assert (api["read_only"], api["tmpfs"], api["init"]) == (True, ["/tmp"], True)


def test_every_setting_in_compose_is_one_and_together_they_are_accepted(monkeypatch):
    for name in ("api", "migrate"):
        environment = COMPOSE["services"][name]["environment"]
        variables = {row[0] for row in Settings().described()}
        assert set(environment) - {"TMPDIR", "STEPWELL_OWNER_PASSWORD"} <= variables
    for name, value in COMPOSE["services"]["api"]["environment"].items():
        monkeypatch.setenv(name, re.sub(r"\$\{\w+(?::-(\w*)|:\?[^}]*)?\}", r"\1", str(value)))
    settings = Settings()
    assert (settings.auth, settings.host, settings.port, settings.metrics) == ("api_key", "0.0.0.0", 8000, "keyed")


def test_secrets_come_from_a_file_that_git_ignores_and_none_is_committed():
    asked = set(re.findall(r"\$\{(STEPWELL_\w*PASSWORD)", (ROOT / "compose.yaml").read_text()))
    example = (ROOT / ".env.example").read_text()
    assert asked == set(re.findall(r"^(STEPWELL_\w*PASSWORD)=$", example, flags=re.MULTILINE))
    assert ".env" in (ROOT / ".gitignore").read_text().splitlines()
