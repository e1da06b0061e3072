"""The network: what listens on this machine, other machines, and what is below TCP."""

import fcntl
import http.client
import os
import socket
import struct

from attempting import Stopped, T, attempt, attempts, greeted, holds, read

# Landlock has rules for TCP since ABI 4, and none for UDP.
NO_TCP = "namespaces | seccomp | landlock4"
NO_NETWORK = "namespaces | seccomp"


def any_greeted(addresses):
    """Connects to the first of several addresses that can be."""
    last = Stopped("the host has no such address")
    for address in addresses:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            return greeted(family, (address, T["tcp_all"]))
        except OSError as error:
            last = error
    raise last


def asked():
    connection = http.client.HTTPConnection(T["server"], timeout=15)
    connection.request("GET", "/healthz")
    return connection.getresponse().status


def has_a_way(address, family=socket.AF_INET):
    """Sees whether there is a way to an address. A UDP socket sends nothing by connect."""
    with socket.socket(family, socket.SOCK_DGRAM) as client:
        client.connect((address, 53))


attempts(
    {
        NO_TCP: {
            "connect to what listens on the host's 127.0.0.1": lambda: greeted(
                socket.AF_INET, ("127.0.0.1", T["tcp"])
            ),
            "connect to the host's loopback by other names": lambda: any_greeted(
                ("0.0.0.0", "127.1.2.3", "localhost")
            ),
            "ask the server over HTTP": asked,
        },
        "seccomp | uid": {
            "make a raw IP socket": lambda: socket.socket(2, socket.SOCK_RAW, 1).close(),
            "make a packet socket": lambda: socket.socket(17, socket.SOCK_RAW, 0x0300).close(),
        },
        "namespaces": {
            "list the host's connections": lambda: holds(read("/proc/net/tcp"), f":{T['tcp']:04X}")
        },
    }
)
attempts(
    {
        NO_TCP: {
            "connect to what listens on the host's ::1": lambda: any_greeted(("::1",)),
            "connect to the host's other addresses": lambda: any_greeted(T["addresses"]),
        },
        NO_NETWORK: {
            # Where clouds have a machine's credentials.
            "find a way to the metadata": lambda: has_a_way("169.254.169.254"),
            "find a way out by IPv4": lambda: has_a_way("192.0.2.53"),
            "find a way out by IPv6": lambda: has_a_way("2001:db8::53", socket.AF_INET6),
            # Secrets can leave in names.
            "ask for a name": lambda: socket.getaddrinfo("example.invalid", 80),
        },
    },
    control=False,
)


@attempt(NO_NETWORK)
def ask_by_udp_what_answers_on_the_hosts_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(15)
        client.sendto(b"?", ("127.0.0.1", T["udp"]))
        return holds(client.recv(100))


@attempt(NO_NETWORK)
def listen_where_the_hosts_own_programs_could_connect():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        text = read("/proc/net/tcp").decode()
        mine = f"0100007F:{server.getsockname()[1]:04X}"
    if mine in text and f":{T['tcp']:04X}" not in text:
        raise Stopped("the loopback that it listens on is its own")


@attempt("seccomp | uid")
def change_an_interface_to_what_it_is():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = bytearray(struct.pack("16sh22x", b"lo", 0))
        fcntl.ioctl(control, 0x8913, request)
        fcntl.ioctl(control, 0x8914, bytes(request))


@attempt(NO_NETWORK)
def list_the_interfaces():
    names = [name for _, name in socket.if_nameindex() if name != "lo"]
    if not names:
        raise Stopped("there is the loopback alone")
    return names


@attempt("namespaces | seccomp | uid", control=False)
def listen_on_port_80_where_the_hosts_clients_would_come():
    with socket.socket() as server:
        server.bind(("0.0.0.0", 80))
        if os.path.exists("/sys/class/net/eth0"):
            return "it listens beside the host's interfaces"
    raise Stopped("on its own loopback")
