"""The dashboard and the alert rules name metrics, labels and codes that the service has."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import harness
import pytest
import yaml

from app import errors
from app.main import create_app
from app.settings import Settings

DEPLOY = Path(__file__).parents[2] / "deploy"
DASHBOARD = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
RULES = yaml.safe_load((DEPLOY / "prometheus-alerts.yaml").read_text())["groups"][0]["rules"]
OF_PROMETHEUS = {"job", "instance", "le"}


EXPRESSIONS: dict[str, str] = {rule["alert"]: rule["expr"] for rule in RULES} | {
    f"{panel['title']} {target['refId']}": target["expr"]
    for panel in DASHBOARD["panels"]
    for target in panel["targets"]
}


def _labels() -> dict[str, set[str]]:
    """The labels of each metric that declares its own; those that collectors read are in the page of operations."""
    page = (DEPLOY.parent / "docs" / "operations.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith(("| `stepwell_", "| `process_"))]
    found: dict[str, set[str]] = {}
    for names, labels in (line.strip("| ").split(" | ", 1) for line in lines):
        for name in re.findall(r"`((?:stepwell|process)_[a-z_]+)`", names):
            found[name] = set(re.findall(r"`([a-z]+)`", labels))
    return found


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_an_expression_reads_metrics_of_the_service_by_labels_that_they_have(expression: str) -> None:
    names = set(re.findall(r"\b(?:stepwell|process)_[a-z_]+", expression))
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in names}
    assert families
    assert families <= harness.metric_names()
    used = {label for part in re.findall(r"by \(([^)]*)\)", expression) for label in part.split(", ")}
    used |= set(re.findall(r"[{,](\w+)=", expression))
    described = _labels()
    assert used <= OF_PROMETHEUS.union(*(described.get(name, set()) for name in families))
    codes = {error.code for error in _subclasses(errors.StepwellError)}
    assert set(re.findall(r'code="(\w+)"', expression)) <= codes


def _subclasses(error: type[errors.StepwellError]) -> Iterator[type[errors.StepwellError]]:
    yield error
    for one in error.__subclasses__():
        yield from _subclasses(one)


def test_every_alert_says_what_it_means_and_how_urgent_it_is() -> None:
    assert all(rule["annotations"]["summary"] and rule["labels"]["severity"] for rule in RULES)
    assert len({rule["alert"] for rule in RULES}) == len(RULES)


def test_no_alert_waits_for_a_breaker_to_stay_open_which_is_half_open_between_two_trials() -> None:
    assert not [rule["alert"] for rule in RULES if "breaker_state" in rule["expr"]]


def test_the_service_shows_buckets_where_a_quantile_is_asked_for() -> None:
    kinds = {family.name: family.type for family in create_app(Settings()).state.metrics.registry.collect()}
    asked = [name for expression in EXPRESSIONS.values() for name in re.findall(r"(\w+)_bucket", expression)]
    assert asked
    assert {kinds[name] for name in asked} == {"histogram"}
