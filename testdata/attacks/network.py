"""The network: what listens on this machine, other machines, and what is below TCP."""

import fcntl
import http.client
import os
import socket
import struct

from attempting import Stopped, T, attempt, holds

# Landlock has rules for TCP since ABI 4, and none for UDP.
NO_TCP = "namespaces | seccomp | landlock4"
NO_NETWORK = "namespaces | seccomp"


def greeted(family, address):
    with socket.socket(family) as client:
        client.settimeout(15)
        client.connect(address)
        return holds(client.recv(100))


@attempt(NO_TCP)
def connect_to_loopback():
    """Connects to what listens on the host's 127.0.0.1."""
    return greeted(socket.AF_INET, ("127.0.0.1", T["tcp"]))


@attempt(NO_TCP)
def connect_to_loopback_by_other_names():
    """Connects to what listens on the host by 0.0.0.0, 127.1 and localhost."""
    for name in ("0.0.0.0", "127.1.2.3", "localhost"):
        try:
            return greeted(socket.AF_INET, (name, T["tcp_all"]))
        except OSError as error:
            last = error
    raise last


@attempt(NO_TCP, control=False)
def connect_to_loopback_by_ipv6():
    """Connects to what listens on the host's ::1."""
    return greeted(socket.AF_INET6, ("::1", T["tcp_all"]))


@attempt(NO_TCP, control=False)
def connect_to_an_address_of_the_host():
    """Connects to what listens on the host's other addresses."""
    last = Stopped("the host has no other address")
    for address in T["addresses"]:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            return greeted(family, (address, T["tcp_all"]))
        except OSError as error:
            last = error
    raise last


@attempt(NO_TCP)
def ask_the_server():
    """Asks the server over HTTP, where it would be a client like any other."""
    connection = http.client.HTTPConnection(T["server"], timeout=15)
    connection.request("GET", "/healthz")
    return connection.getresponse().status


@attempt(NO_NETWORK)
def ask_by_udp():
    """Asks what answers by UDP on the host's 127.0.0.1."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(15)
        client.sendto(b"?", ("127.0.0.1", T["udp"]))
        return holds(client.recv(100))


@attempt("namespaces | seccomp")
def answer_for_the_host():
    """Listens on a port that the host's own programs could connect to."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        with open("/proc/net/tcp") as connections:
            mine = f"0100007F:{server.getsockname()[1]:04X}"
            others = f":{T['tcp']:04X}"
            text = connections.read()
    if mine in text and others not in text:
        raise Stopped("the loopback that it listens on is its own")
    return "it listens where the host's do"


def has_a_way(address, family=socket.AF_INET):
    """Sees whether there is a way to an address. A UDP socket sends nothing by connect."""
    with socket.socket(family, socket.SOCK_DGRAM) as client:
        client.connect((address, 53))
    return f"there is a way to {address}"


@attempt(NO_NETWORK, control=False)
def find_a_way_to_the_metadata():
    """Looks for a way to 169.254.169.254, where clouds have a machine's credentials."""
    return has_a_way("169.254.169.254")


@attempt(NO_NETWORK, control=False)
def find_a_way_out():
    """Looks for a way to other machines by IPv4."""
    return has_a_way("192.0.2.53")


@attempt(NO_NETWORK, control=False)
def find_a_way_out_by_ipv6():
    """Looks for a way to other machines by IPv6."""
    return has_a_way("2001:db8::53", socket.AF_INET6)


@attempt(NO_NETWORK, control=False)
def ask_for_a_name():
    """Asks for the address of a name, by which secrets can leave in names."""
    return socket.getaddrinfo("example.invalid", 80)


@attempt("seccomp | uid")
def raw_socket():
    """Makes a raw IP socket."""
    socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close()
    return "it was made"


@attempt("seccomp | uid")
def packet_socket():
    """Makes a packet socket, which sees all that goes over the network."""
    socket.socket(17, socket.SOCK_RAW, 0x0300).close()
    return "it was made"


@attempt("seccomp | uid")
def change_an_interface():
    """Changes the loopback interface (to what it is)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = bytearray(struct.pack("16sh22x", b"lo", 0))
        fcntl.ioctl(control, 0x8913, request)
        fcntl.ioctl(control, 0x8914, bytes(request))
    return "it was changed"


@attempt("namespaces | seccomp")
def list_the_interfaces():
    """Lists the machine's network interfaces."""
    names = [name for _, name in socket.if_nameindex() if name != "lo"]
    if not names:
        raise Stopped("there is the loopback alone")
    return names


@attempt("namespaces")
def list_the_connections():
    """Lists the host's connections in /proc/net."""
    with open("/proc/net/tcp") as connections:
        return holds(connections.read(), f":{T['tcp']:04X}")


@attempt("namespaces | seccomp | uid", control=False)
def listen_on_a_port_of_the_systems():
    """Listens on port 80 of all addresses, where the host's clients would come."""
    with socket.socket() as server:
        server.bind(("0.0.0.0", 80))
        if os.path.exists("/sys/class/net/eth0"):
            return "it listens beside the host's interfaces"
    raise Stopped("on its own loopback")
