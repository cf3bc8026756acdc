"""Tells public internet addresses from those of private networks and of this machine."""

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

PUBLIC_V6 = ip_network("2000::/3")
NAT64 = ip_network("64:ff9b::/96")
NOT_PUBLIC = tuple(
    map(
        ip_network,
        (
            "168.63.129.16/32",  # Azure's metadata
            "192.0.0.0/24",  # Oracle's metadata is among these
            "192.88.99.0/24",
            "2001::/23",  # Teredo and other tunnels
            "2002::/16",  # 6to4
            "3fff::/20",
        ),
    )
)


def why_not_public(address: str) -> str:
    """Returns why an address must not be reached, "" if it is public and of another machine.

    Only numeric addresses are public.
    """
    try:
        found = ip_address(address)
    except ValueError:
        return "no plain address"
    reason = _why_not_v6(found) if isinstance(found, IPv6Address) else _why_not_v4(found)
    return reason or ("this machine" if _is_own(address) else "")


def _is_own(address: str) -> bool:
    """Returns whether packets to the address would stay on this machine; none is sent."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            # Connecting a UDP socket only looks up the route; for an own address the source is the address itself.
            probe.connect((address, 9))
        except OSError:
            return False
        return bool(probe.getsockname()[0] == address)


def _why_not_v6(address: IPv6Address) -> str:
    # Both kinds of IPv6 addresses lead to an IPv4 address, which has to be public.
    inner = address.ipv4_mapped or (IPv4Address(int(address) & 0xFFFFFFFF) if address in NAT64 else None)
    if inner:
        return _why_not_v4(inner)
    if address.is_loopback:
        return "this machine"
    if address.is_link_local:
        return "link-local"
    return "" if address in PUBLIC_V6 and _is_global(address) else "not public"


def _why_not_v4(address: IPv4Address) -> str:
    if address.is_loopback or address.is_unspecified:
        return "this machine"
    if address.is_link_local:
        return "link-local, as is cloud metadata"
    if address.is_private:
        return "a private network"
    return "" if _is_global(address) and not address.is_multicast else "not public"


def _is_global(address: IPv4Address | IPv6Address) -> bool:
    return address.is_global and not any(address in network for network in NOT_PUBLIC)
