# A server on 127.0.0.1: asked from here, from another process, by asyncio.
# needs: sockets:internet
# brief
import asyncio
import http.server
import socket
import subprocess
import sys
import threading
import urllib.request


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
thread = threading.Thread(target=server.serve_forever)
thread.start()
url = f"http://127.0.0.1:{server.server_port}/"
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
assert direct.open(url, timeout=30).read() == b"hello"
assert direct.open(url.replace("127.0.0.1", "localhost"), timeout=30).read() == b"hello"
code = (
    f"import urllib.request as u; print(u.build_opener(u.ProxyHandler({{}})).open({url!r}).read())"
)
assert subprocess.check_output([sys.executable, "-c", code]) == b"b'hello'\n"
server.shutdown()
thread.join()
server.server_close()


async def echo():
    async def answer(reader, writer):
        writer.write(await reader.readline())
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"line\n")
    assert await reader.readline() == b"line\n"
    writer.close()
    listening.close()


asyncio.run(echo())
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.bind(("127.0.0.1", 0))
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"datagram", one.getsockname())
assert one.recv(100) == b"datagram"
assert socket.gethostname()
print("ok")
