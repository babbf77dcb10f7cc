# The images of the roles: `docker build --target curator .`, and so relay, holder, proxy and demo.
# All run as user 1000 on a read-only root file system with a tmpfs at /tmp, and hold no
# compiler. A base of your own: `--build-arg PYTHON=registry.example/python:3.12-slim`.
#
# Health checks ask by bash, in milliseconds: starting a Python each time takes a busy machine seconds.
# A server that has not answered yet is given ten minutes; one that cannot start ends, and its container
# with it. (`--start-interval` would break the build with Debian 12's Docker.)
ARG PYTHON=python:3.11-slim
ARG DEBIAN=debian:bookworm-slim

FROM ${PYTHON} AS base
RUN useradd --uid 1000 --no-create-home privet \
    && install -d -o privet -g privet /data
ENV PATH=/opt/privet/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 ORT_DISABLE_TELEMETRY=1
ENV PIP_CACHE_DIR=/var/cache/pip
WORKDIR /data

# What all roles need; a role's image adds its own to it, so that layers are shared.
FROM base AS build
RUN python -m venv --without-pip /opt/privet
WORKDIR /build
COPY requirements requirements
ENV INSTALL="pip --python /opt/privet/bin/python --disable-pip-version-check install --quiet --root-user-action ignore --no-deps"

FROM build AS code
RUN --mount=type=cache,target=/var/cache/pip $INSTALL --require-hashes --requirement requirements/build.txt
COPY pyproject.toml setup.py LICENSE ./
COPY privet privet
COPY protocol protocol
COPY sqlite_files sqlite_files
COPY holder-js holder-js
COPY page page
COPY http_client http_client
COPY tables tables
COPY http_server http_server
COPY intake intake
COPY learning learning
COPY client client
COPY relay relay
COPY admin admin
COPY curator curator
COPY conformance conformance
RUN $INSTALL --no-build-isolation --prefix /code .

FROM build AS for-holder
RUN --mount=type=cache,target=/var/cache/pip $INSTALL --require-hashes --requirement requirements/holder.txt

FROM build AS for-relay
RUN --mount=type=cache,target=/var/cache/pip $INSTALL --require-hashes --requirement requirements/relay.txt

# Tests, headers and sources of extension modules are a fifth of the scientific packages.
FROM build AS for-curator
RUN --mount=type=cache,target=/var/cache/pip $INSTALL --require-hashes --requirement requirements/curator.txt \
    && cd /opt/privet/lib/python3*/site-packages \
    && find . -type d \( -name tests -o -name include \) -prune -exec rm -r {} + \
    && find . -type f \( -name '*.pyx' -o -name '*.pxd' -o -name '*.c' -o -name '*.cpp' -o -name '*.a' \) -delete

FROM base AS holder
COPY --from=for-holder /opt/privet /opt/privet
COPY --from=code /code/lib /opt/privet/lib
COPY --from=code /code/bin/privet-holder /opt/privet/bin/
USER 1000:1000
VOLUME /data
ENV PRIVET_HOLDER_LEDGER=/data/ledger.db
ENTRYPOINT ["privet-holder"]

FROM base AS relay
COPY --from=for-relay /opt/privet /opt/privet
COPY --from=code /code/lib /opt/privet/lib
COPY --from=code /code/bin/privet-relay /opt/privet/bin/
USER 1000:1000
VOLUME /data
EXPOSE 8100
HEALTHCHECK --interval=5s --timeout=10s --start-period=10m --retries=6 \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8100 && printf 'GET /readyz HTTP/1.0\\r\\n\\r\\n' >&3 && read -r _ code _ <&3 && [ $code = 200 ]"]
ENTRYPOINT ["privet-relay"]

FROM base AS curator
COPY --from=for-curator /opt/privet /opt/privet
COPY --from=code /code/lib /opt/privet/lib
COPY --from=code /code/bin/privet /opt/privet/bin/
USER 1000:1000
VOLUME /data
EXPOSE 8000
ENV PRIVET_DATABASE=sqlite:////data/privet.db PRIVET_HOST=0.0.0.0
HEALTHCHECK --interval=5s --timeout=10s --start-period=10m --retries=6 \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8000 && printf 'GET /readyz HTTP/1.0\\r\\n\\r\\n' >&3 && read -r _ code _ <&3 && [ $code = 200 ]"]
ENTRYPOINT ["privet"]
CMD ["serve"]

# The demonstration's steps, and a load test.
FROM curator AS demo
USER root
COPY requirements/demo.txt /opt/demo/
RUN --mount=type=cache,target=/var/cache/pip \
    pip --python /opt/privet/bin/python --disable-pip-version-check install --quiet \
    --root-user-action ignore --no-deps --require-hashes --requirement /opt/demo/demo.txt
COPY scripts /opt/demo/scripts
USER 1000:1000
ENV PYTHONPATH=/opt/demo
HEALTHCHECK NONE
ENTRYPOINT ["python", "-m"]
CMD ["scripts.containers", "--help"]

FROM ${DEBIAN} AS proxy
RUN apt-get -qq update \
    && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends nginx-light libnginx-mod-stream \
    && rm -rf /var/lib/apt/lists/* /var/log/nginx/*
COPY deploy/nginx.conf /etc/nginx/nginx.conf
USER 1000:1000
EXPOSE 8443 8444 8080
HEALTHCHECK --interval=5s --timeout=10s --start-period=10m --retries=6 \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8080 && printf 'GET /healthz HTTP/1.0\\r\\n\\r\\n' >&3 && read -r _ code _ <&3 && [ $code = 200 ]"]
ENTRYPOINT ["nginx", "-g", "daemon off;"]
