"""The names in a document's metadata are found with their types."""

from app.text.names import metadata_names


def _of(**metadata: object) -> list[tuple[str, str, str]]:
    return [(tag.text, tag.type, tag.kind) for tag in metadata_names.from_metadata(metadata, metadata_names.KEYS)]


def test_each_key_has_its_type_and_kind_and_other_keys_are_skipped() -> None:
    found = _of(project="North stair", team={"name": "Masons"}, tags=["lime", "IT"], title="No", Speakers=["Ana"])
    assert found == [
        ("Ana", "person", "attendee"),
        ("North stair", "project", "metadata"),
        ("Masons", "team", "metadata"),
        ("lime", "tag", "metadata"),
        ("IT", "tag", "metadata"),
    ]
    own = metadata_names.from_metadata(
        {"Supplier": "Lundby", "host": "Cy", "berth": "Pier 3"}, ["supplier:vendor", "host:person", "berth"]
    )
    assert [(tag.type, tag.kind) for tag in own] == [
        ("person", "attendee"),
        ("vendor", "metadata"),
        ("berth", "metadata"),
    ]


def test_strings_lists_and_objects_with_a_name_and_a_type_of_their_own_are_read() -> None:
    people = ["Ana Silva", {"name": "Ben  Otto", "mail": "b@x.example"}, 7, None, {"id": 3}, ["Nested"]]
    assert _of(attendees=people, author="Cy") == [
        (name, "person", "attendee") for name in ("Ana Silva", "Ben Otto", "Cy")
    ]
    keys = ("vendor", "client", "customer", "organisation", "organization", "company", "product")
    assert _of(**{key: f"Name {key}" for key in keys}) == [(f"Name {key}", key, "metadata") for key in keys]
    typed = {"Lundby": "Vendor", "Cy": "person", "Oslo": "no type!"}
    assert _of(tags=[{"name": name, "type": kind} for name, kind in typed.items()]) == [
        ("Lundby", "vendor", "metadata"),
        ("Cy", "person", "attendee"),
        ("Oslo", "name", "metadata"),
    ]


def test_a_name_counts_once_and_as_a_person_first() -> None:
    assert _of(tags=["ana silva", "Lime", "LIME"], author="Ana Silva") == [
        ("Ana Silva", "person", "attendee"),
        ("Lime", "tag", "metadata"),
    ]


def test_empty_and_overlong_values_are_skipped() -> None:
    assert _of(tags=["", "!!", "x" * 201, "x" * 100_000]) == []
    assert len(_of(tags=[f"tag {n}" for n in range(500)])) == metadata_names.MAX_VALUES
