# docpruner serve, as a user without rights, with its index in a volume: see docs/container.md

FROM python:3.12-slim AS build
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY pyproject.toml setup.py README.md LICENSE NOTICE ./
COPY src src
RUN python -m venv /opt/docpruner \
    && /opt/docpruner/bin/pip install --no-cache-dir ".[web,mcp]"

FROM python:3.12-slim
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin docpruner \
    && install --directory --owner=10001 --group=10001 /data
COPY --from=build /opt/docpruner /opt/docpruner
ENV PATH=/opt/docpruner/bin:$PATH PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/api/health', timeout=4)"]
ENTRYPOINT ["docpruner"]
CMD ["serve", "/data/index", "--host", "0.0.0.0", "--port", "8000"]
