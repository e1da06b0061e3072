# understudy with Python and the scientific libraries, for clients on a network.
#
#   docker build -t understudy --build-arg VERSION=$(git describe --tags --always) .
#   install -d -m 0700 -o 10001 -g 10001 understudy-etc
#   docker run --rm -v ./understudy-etc:/etc/understudy understudy token alice --add-to /etc/understudy/tokens >alice.token
#   docker run --init -p 127.0.0.1:8808:8808 -v ./understudy-etc:/etc/understudy:ro understudy
#
# It doesn't start without a file of tokens. docs/operations.md has the rest.

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=devel
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-X understudy/internal/app.version=${VERSION}" -o /out/understudy .

# Beside the program, so that a change of it doesn't install the libraries again.
FROM python:3.13-slim-bookworm AS libraries
COPY pyworker/requirements.lock /tmp/requirements.lock
RUN python -m venv /opt/understudy/python \
 && /opt/understudy/python/bin/pip install --no-cache-dir -r /tmp/requirements.lock

FROM python:3.13-slim-bookworm
RUN groupadd --system --gid 10001 understudy \
 && useradd --system --uid 10001 --gid understudy --home-dir /var/lib/understudy --shell /usr/sbin/nologin understudy \
 && install -d -o understudy -g understudy -m 0700 /var/lib/understudy
COPY --from=libraries /opt/understudy/python /opt/understudy/python
COPY --from=build /out/understudy /usr/local/bin/understudy
# The sessions' code sees these too; no secret belongs here.
ENV HOME=/var/lib/understudy \
    UNDERSTUDY_PYTHON=/opt/understudy/python/bin/python \
    UNDERSTUDY_DATA_DIR=/var/lib/understudy \
    UNDERSTUDY_TRANSPORT=http,sse \
    UNDERSTUDY_ADDR=0.0.0.0:8808 \
    UNDERSTUDY_AUTH_TOKENS=/etc/understudy/tokens \
    UNDERSTUDY_LOG_FORMAT=json
USER 10001:10001
WORKDIR /var/lib/understudy
EXPOSE 8808
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s CMD ["/opt/understudy/python/bin/python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8808/healthz', timeout=5)"]
ENTRYPOINT ["/usr/local/bin/understudy"]
CMD ["serve"]
