"""A page is fetched from the public web only, within limits, whatever its site does."""

import asyncio
import gzip
from collections.abc import AsyncIterator

import httpcore
import pytest
import web_site
from web_site import PUBLIC, Site, redirect, response

from app import errors
from app.fetching import types as hosts
from app.fetching import web_fetcher
from app.fetching.types import ANY_HOST, AllowedHosts
from app.fetching.web_fetcher import MAX_REDIRECTS, FetchLimits

PAGE = "http://docs.example.com/lime.html"
FEW = FetchLimits(max_bytes=10_000, step_s=5.0, whole_s=5.0)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with web_site.opened() as opened:
        yield opened


LOCAL = (
    "127.0.0.1 10.1.2.3 172.31.255.255 192.168.0.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 255.255.255.255 "
    "192.0.0.8 198.18.0.1 240.0.0.1 192.88.99.1 :: ::1 fe80::1%eth0 fc00::1 ff02::1 fec0::1 ::ffff:127.0.0.1 "
    "::ffff:8.8.8.8 ::127.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 2002:7f00:1:: 2001:0:1::1 2001:db8::1 100::1 "
    "localhost 127.1"
)


def test_only_addresses_of_public_hosts_are_public() -> None:
    assert all(map(web_fetcher.is_public, [PUBLIC, "2606:4700::6810:84e5"]))
    assert [address for address in LOCAL.split() if web_fetcher.is_public(address)] == []


@pytest.mark.parametrize(
    ("pattern", "host", "port", "allowed"),
    [
        ("docs.example.com", "Docs.Example.com", 443, True),
        ("docs.example.com", "docs.example.com.", 80, True),
        ("docs.example.com", "evil-docs.example.com", 443, False),
        ("docs.example.com", "docs.example.com", 8443, False),
        ("docs.example.com:8443", "docs.example.com", 8443, True),
        ("docs.example.com:8443", "docs.example.com", 443, False),
        ("*.example.com", "a.b.example.com", 443, True),
        ("*.example.com", "example.com", 443, False),
        ("*.example.com", "evilexample.com", 443, False),
        ("*", "anything.example", 443, True),
        ("*", "anything.example", 22, False),
        ("*:*", "anything.example", 22, True),
    ],
)
def test_a_pattern_allows_its_hosts_and_ports(pattern: str, host: str, port: int, allowed: bool) -> None:
    assert hosts.is_pattern(pattern)
    assert AllowedHosts((pattern,)).allow(host, port) is allowed


async def test_a_page_is_fetched_over_redirects_without_anything_of_the_caller(site: Site) -> None:
    site.answers = {
        "/old": redirect("/lime.html#part"),
        "/lime.html": response(b"<p>Lime", set_cookie="a=b", content_type="Text/HTML; charset=UTF-8"),
    }
    page = await site.fetcher().fetch("http://docs.example.com/old", allowed=ANY_HOST)
    assert (page.raw, page.media_type, page.charset) == (b"<p>Lime", "text/html", "utf-8")
    assert site.connected == [PUBLIC, PUBLIC]
    sent = {name for request in site.requests for name in request} - {"target"}
    assert sent == {"host", "user-agent", "accept", "accept-encoding"}
    assert site.requests[1]["host"] == "docs.example.com"


PRIVATE = [
    "http://127.0.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::1]:5432/",
    "http://[64:ff9b::a9fe:a9fe]/",
]


@pytest.mark.parametrize("address", PRIVATE)
async def test_nothing_is_connected_to_that_is_not_public(site: Site, address: str) -> None:
    site.answers["/lime.html"] = redirect(address)
    with pytest.raises(errors.BadRequest, match="The address"):
        await site.fetcher().fetch(address, allowed=ANY_HOST)
    assert site.connected == []
    with pytest.raises(errors.BadRequest, match="The address"):
        await site.fetcher().fetch(PAGE, allowed=ANY_HOST)
    assert site.connected == [PUBLIC]


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0177.0.0.1", "0x7f.1", "localhost"])
async def test_other_spellings_of_this_machine_are_resolved_by_the_system_and_refused(host: str) -> None:
    with pytest.raises(errors.BadRequest, match="The address"):
        await web_fetcher.PublicNetwork(Site()).connect_tcp(host, 80, 5.0)


async def test_a_name_is_resolved_once_for_each_connection_and_what_was_checked_is_connected_to(site: Site) -> None:
    site.answers = {"/lime.html": response(b"Lime"), "/again": redirect("/lime.html")}
    site.names["docs.example.com"] = [[PUBLIC], ["127.0.0.1"]]
    await site.fetcher().fetch(PAGE, allowed=ANY_HOST)
    assert site.connected == [PUBLIC]
    site.names["docs.example.com"] = [[PUBLIC], ["10.0.0.1"]]
    with pytest.raises(errors.BadRequest, match="The address"):
        await site.fetcher().fetch("http://docs.example.com/again", allowed=ANY_HOST)
    site.names["docs.example.com"] = [[PUBLIC, "::1"]]
    with pytest.raises(errors.BadRequest, match="The address"):
        await site.fetcher().fetch(PAGE, allowed=ANY_HOST)
    assert site.connected == [PUBLIC, PUBLIC]


async def test_a_redirect_to_a_host_that_is_not_allowed_is_not_followed(site: Site) -> None:
    site.answers["/lime.html"] = redirect("http://other.example/")
    with pytest.raises(errors.Forbidden, match="STEPWELL_FETCH_HOSTS") as raised:
        await site.fetcher().fetch(PAGE, allowed=AllowedHosts(("docs.example.com",)))
    assert (raised.value.status, raised.value.field) == (403, "url")
    assert len(site.connected) == 1
    with pytest.raises(errors.Forbidden, match="STEPWELL_FETCH_HOSTS"):
        await site.fetcher().fetch(PAGE, allowed=AllowedHosts())


@pytest.mark.parametrize(
    "address",
    [
        "file:///etc/passwd",
        "gopher://docs.example.com/",
        "//docs.example.com/",
        "docs.example.com",
        "http://",
        "http://user:secret@docs.example.com/",
        "http://docs.example.com:99999/",
        "http://xn--/",
        "http://docs.example.com/\nx",
        f"http://docs.example.com/{'x' * 3_000}",
    ],
)
async def test_what_is_no_address_of_the_web_is_refused(site: Site, address: str) -> None:
    site.answers["/lime.html"] = redirect(address) if address.isprintable() else b"?"
    with pytest.raises(errors.BadRequest, match="The address") as raised:
        await site.fetcher().fetch(address, allowed=ANY_HOST)
    assert (raised.value.status, raised.value.field) == (422, "url")
    assert "secret" not in raised.value.message


async def _endless(headers: dict[str, str], writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while not writer.is_closing():
        writer.write(b"x" * 4_000)
        await writer.drain()


async def _dripping(headers: dict[str, str], writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n")
    while not writer.is_closing():
        writer.write(b"x")
        await asyncio.sleep(0.02)


async def _silent(headers: dict[str, str], writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(2.0)


FAILING = {
    "an error page": (response(b"<h1>Sorry</h1>", "404 Not Found", content_type="text/html"), "fetch_failed"),
    "no content": (response(status="204 No Content"), "fetch_failed"),
    "unchanged without being asked": (response(status="304 Not Modified"), "fetch_failed"),
    "a redirect to nowhere": (response(status="302 Found"), "fetch_failed"),
    "a loop": (redirect("/lime.html"), "fetch_failed"),
    "an endless body": (_endless, "fetch_failed"),
    "a large length": (response(b"x", content_length="99999999999999999999"), "fetch_failed"),
    "a bomb": (response(gzip.compress(b"0" * 5_000_000), content_encoding="gzip"), "fetch_failed"),
    "many bombs": (response(gzip.compress(b"0" * 9_000) * 100, content_encoding="gzip"), "fetch_failed"),
    "half a gzip": (response(gzip.compress(b"Lime" * 99)[:-9], content_encoding="gzip"), "fetch_failed"),
    "no gzip": (response(b"Lime", content_encoding="gzip"), "fetch_failed"),
    "an unknown encoding": (response(b"Lime", content_encoding="br"), "fetch_failed"),
    "a body that is too short": (response(b"Lime", content_length="500"), "site_unavailable"),
    "a failure": (response(status="503 Service Unavailable"), "site_unavailable"),
    "too many requests": (response(status="429 Too Many Requests"), "site_unavailable"),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.2\r\n", "site_unavailable"),
    "endless headers": (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 50_000, "site_unavailable"),
    "a slow body": (_dripping, "site_unavailable"),
    "silence": (_silent, "site_unavailable"),
}


@pytest.mark.parametrize("name", FAILING)
async def test_a_site_that_misbehaves_has_no_page(site: Site, name: str) -> None:
    site.answers["/lime.html"], code = FAILING[name]
    limits = FetchLimits(10_000, 0.1, 5.0) if name == "silence" else FEW
    limits = FetchLimits(10_000, 5.0, 0.3) if name == "a slow body" else limits
    with pytest.raises(errors.StepwellError) as raised:
        await site.fetcher(limits).fetch(PAGE, allowed=ANY_HOST)
    assert (raised.value.code, raised.value.field) == (code, "url")
    assert len(site.requests) <= MAX_REDIRECTS + 1


async def test_a_compressed_page_and_one_with_less_length_than_body_are_read(site: Site) -> None:
    packed = gzip.compress(b"Lime ") + gzip.compress(b"mortar") + b"\x00" * 8
    site.answers = {"/gz": response(packed, content_encoding="gzip"), "/long": response(b"Lime!!", content_length="4")}
    pages = [await site.fetcher().fetch(f"http://docs.example.com{path}", allowed=ANY_HOST) for path in site.answers]
    assert [page.raw for page in pages] == [b"Lime mortar", b"Lime"]


async def test_a_name_that_cannot_be_resolved_or_connected_to_is_unavailable(site: Site) -> None:
    async def unknown(host: str, port: int) -> list[str]:
        raise OSError

    site.port = 1
    for opened in (web_fetcher.PublicNetwork(site, unknown), web_fetcher.PublicNetwork(site, site._resolve)):
        with pytest.raises(httpcore.ConnectError):
            await opened.connect_tcp("docs.example.com", 80, 5.0)
    with pytest.raises(errors.ProviderError):
        await site.fetcher().fetch(PAGE, allowed=ANY_HOST)


async def test_the_next_address_of_a_name_is_connected_to_where_one_refuses(site: Site) -> None:
    site.names["docs.example.com"], site.refusing = [["9.9.9.9", PUBLIC]], "9.9.9.9"
    site.answers["/lime.html"] = response(b"Lime")
    assert (await site.fetcher().fetch(PAGE, allowed=ANY_HOST)).raw == b"Lime"
    assert site.connected == ["9.9.9.9", PUBLIC]


async def test_the_certificate_is_that_of_the_name_although_an_address_is_connected_to() -> None:
    asked: list[str | None] = []
    async with web_site.opened_over_tls("docs.example.com", asked) as (site, trusting):
        site.answers["/"] = response(b"Lime")
        named = AllowedHosts(("docs.example.com",))  # and the port of HTTPS
        page = await site.fetcher(tls=trusting).fetch("https://docs.example.com", allowed=named)
        assert (page.raw, asked, site.connected) == (b"Lime", ["docs.example.com"], [PUBLIC])
        with pytest.raises(errors.ProviderError):
            await site.fetcher(tls=trusting).fetch("https://other.example.com", allowed=ANY_HOST)
