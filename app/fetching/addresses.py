"""Tells public IP addresses from those of this machine, of private networks, and those that embed other addresses."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

# Written out because `is_global` of the standard library differs between versions of Python, and is true of multicast
# addresses and of IPv6 addresses that a gateway translates to private IPv4 ones.
_NOT_PUBLIC = [
    ip_network(network)
    for network in (
        "0.0.0.0/8",  # this network; RFC 6890 and the registries of IANA list these
        "10.0.0.0/8",
        "100.64.0.0/10",  # shared by carriers
        "127.0.0.0/8",
        "169.254.0.0/16",  # link-local, with the metadata services of clouds
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",
        "2001::/23",  # Teredo, ORCHID and other protocols
        "2001:db8::/32",
        "2002::/16",  # 6to4
        "3fff::/20",
    )
]
_GLOBAL_UNICAST = ip_network("2000::/3")
"""All IPv6 addresses outside of it are local, multicast, or embed IPv4 addresses, as those of NAT64 do."""


def is_public(address: str) -> bool:
    """Whether an IP address belongs to a host of the public Internet; false if it is no IP address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    return not any(parsed in network for network in _NOT_PUBLIC) and _is_unicast(parsed)


def _is_unicast(address: IPv4Address | IPv6Address) -> bool:
    return address.version == 4 or address in _GLOBAL_UNICAST
