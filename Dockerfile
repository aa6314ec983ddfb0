# One image for every process; the command chooses: serve, work, ingest, migrate.
FROM python:3.12-slim-trixie AS built
WORKDIR /srv/pretreat
RUN apt-get update && apt-get install -y --no-install-recommends make && rm -rf /var/lib/apt/lists/*
COPY Makefile pyproject.toml README.md LICENSE requirements.txt requirements-node.txt package.json package-lock.json .npmrc ./
COPY scripts scripts
COPY app app
COPY compliance compliance
COPY ingest ingest
COPY migrations migrations
RUN make image && rm -rf node_modules

FROM python:3.12-slim-trixie
RUN useradd --system --home-dir /var/lib/pretreat --create-home pretreat
COPY --from=built /srv/pretreat /srv/pretreat
ENV PATH=/srv/pretreat/.venv/bin:$PATH PRETREAT_HOME=/var/lib/pretreat PYTHONUNBUFFERED=1
USER pretreat
VOLUME /var/lib/pretreat
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
CMD ["pretreat", "serve", "--host", "0.0.0.0", "--port", "8000"]
